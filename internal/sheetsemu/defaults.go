package sheetsemu

// What a new spreadsheet says of its looks (recorded).

func rgb(r, g, b float64) object {
	o := object{}
	for name, v := range map[string]float64{"red": r, "green": g, "blue": b} {
		if v != 0 {
			o[name] = v
		}
	}
	return o
}

var white = rgb(1, 1, 1)

var defaultFormat = object{
	"backgroundColor":      white,
	"backgroundColorStyle": object{"rgbColor": white},
	"padding":              object{"top": 2, "right": 3, "bottom": 2, "left": 3},
	"verticalAlignment":    "BOTTOM",
	"wrapStrategy":         "OVERFLOW_CELL",
	"textFormat": object{
		"foregroundColor": object{}, "foregroundColorStyle": object{"rgbColor": object{}},
		"fontFamily": "arial,sans,sans-serif", "fontSize": 10,
		"bold": false, "italic": false, "strikethrough": false, "underline": false,
	},
}

var defaultTheme = object{
	"primaryFontFamily": "Arial",
	"themeColors": []any{
		themeColor("TEXT", object{}),
		themeColor("BACKGROUND", white),
		themeColor("ACCENT1", rgb(0.25882354, 0.52156866, 0.95686275)),
		themeColor("ACCENT2", rgb(0.91764706, 0.2627451, 0.20784314)),
		themeColor("ACCENT3", rgb(0.9843137, 0.7372549, 0.015686275)),
		themeColor("ACCENT4", rgb(0.20392157, 0.65882355, 0.3254902)),
		themeColor("ACCENT5", rgb(1, 0.42745098, 0.003921569)),
		themeColor("ACCENT6", rgb(0.27450982, 0.7411765, 0.7764706)),
		themeColor("LINK", rgb(0.06666667, 0.33333334, 0.8)),
	},
}

func themeColor(kind string, color object) object {
	return object{"colorType": kind, "color": object{"rgbColor": color}}
}
