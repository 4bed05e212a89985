package sheetsemu

import (
	"math"
	"strings"
)

// maskedSet returns old with the fields of the mask taken from in; what in
// lacks is cleared. Nothing in old is changed.
func maskedSet(old, in object, m *mask) object {
	if m.all() {
		if len(in) == 0 {
			return nil
		}
		return in
	}
	out := object{}
	mergeInto(out, old)
	for field, below := range m.parts {
		v, given := in[field]
		sub, isObject := v.(object)
		oldSub, _ := out[field].(object)
		switch {
		case !below.all() && (isObject || !given):
			if merged := maskedSet(oldSub, sub, below); merged != nil {
				out[field] = merged
			} else {
				delete(out, field)
			}
		case given:
			out[field] = v
		default:
			delete(out, field)
		}
		if twin := field + "Style"; strings.HasSuffix(field, "Color") {
			delete(out, twin)
			if v, ok := in[twin]; ok {
				out[twin] = v
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// normalFormat writes colours as Google gives them back: as bytes/255 to eight
// places, without zeros, and each in both of its spellings (recorded).
func normalFormat(in object) object {
	if in == nil {
		return nil
	}
	out := object{}
	for k, v := range in {
		sub, ok := v.(object)
		switch {
		case !ok:
			if v != nil {
				out[k] = v
			}
		case strings.HasSuffix(k, "Color"):
			out[k] = normalColor(sub)
			out[k+"Style"] = object{"rgbColor": out[k]}
		case strings.HasSuffix(k, "ColorStyle"):
			if c, ok := sub["rgbColor"].(object); ok {
				out[k] = object{"rgbColor": normalColor(c)}
				out[strings.TrimSuffix(k, "Style")] = normalColor(c)
			} else if _, cleared := sub["rgbColor"]; !cleared {
				out[k] = sub
			}
		default:
			out[k] = normalFormat(sub)
		}
	}
	return out
}

func normalColor(in object) object {
	out := object{}
	for k, v := range in {
		f, ok := v.(float64)
		if !ok {
			continue
		}
		if n := math.Floor(f*255 + 1e-6); n > 0 {
			out[k] = math.Round(n/255*1e8) / 1e8
		}
	}
	return out
}
