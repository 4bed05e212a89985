package sheetsemu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// txn is one call at work on one state: a draft for a write, a published
// state for a read.
type txn struct {
	call *Call
	mask *mask
	user string // address of the caller
	now  time.Time
	book *book
}

// methods answer the calls on a spreadsheet that exists.
var methods map[string]func(*txn) (object, error)

func init() {
	methods = map[string]func(*txn) (object, error){
		KindGet:               (*txn).get,
		KindGetByDataFilter:   (*txn).getByDataFilter,
		KindBatchUpdate:       (*txn).batchUpdate,
		KindValuesGet:         (*txn).valuesGet,
		KindValuesBatchGet:    (*txn).valuesBatchGet,
		KindValuesUpdate:      (*txn).valuesUpdate,
		KindValuesBatchUpdate: (*txn).valuesBatchUpdate,
		KindValuesAppend:      (*txn).valuesAppend,
		KindValuesClear:       (*txn).valuesClear,
		KindValuesBatchClear:  (*txn).valuesBatchClear,
		KindMetadataGet:       (*txn).metadataGet,
		KindMetadataSearch:    (*txn).metadataSearch,
	}
}

// decode reads a JSON message and refuses names that the message lacks. Where
// the name stands is known for the whole message only.
func decode(body []byte, into any, at string) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &wrong):
		return invalid("Invalid value at '%s' (TYPE), %s", strings.Trim(at+"."+wrong.Field, "."), wrong.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		if unquoted, err := strconv.Unquote(name); err == nil {
			return badPayload(unquoted, at)
		}
	}
	var refused *apiError
	if errors.As(err, &refused) {
		return refused
	}
	return invalid("Invalid JSON payload received. %v", err)
}

func (t *txn) get() (object, error) {
	v := view{mask: t.mask, data: truthy(t.call.Query.Get("includeGridData")), user: t.user}
	var err error
	if v.ranges, v.limited, err = t.book.windows(t.call.Query["ranges"]); err != nil {
		return nil, err
	}
	return t.book.render(v), nil
}

// truthy reads a boolean of a query; other clients write False.
func truthy(s string) bool { return strings.EqualFold(s, "true") }

// windows resolves the ranges of a reply.
func (b *book) windows(ranges []string) (ws windows, limited bool, err error) {
	for _, r := range ranges {
		s, a, err := b.lookup(r)
		if err != nil {
			return nil, false, err
		}
		ws = append(ws, window{s, a})
	}
	return ws, len(ranges) > 0, nil
}

func (t *txn) getByDataFilter() (object, error) {
	var req struct {
		DataFilters     []dataFilter `json:"dataFilters"`
		IncludeGridData bool         `json:"includeGridData"`
		Exclude         bool         `json:"excludeTablesInBandedRanges"`
	}
	if err := decode(t.call.Body, &req, ""); err != nil {
		return nil, err
	}
	v := view{mask: t.mask, data: req.IncludeGridData, user: t.user, limited: len(req.DataFilters) > 0}
	for i := range req.DataFilters {
		ws, err := req.DataFilters[i].windows(t.book)
		if err != nil {
			return nil, err
		}
		v.ranges = append(v.ranges, ws...)
	}
	return t.book.render(v), nil
}

func (t *txn) metadataGet() (object, error) {
	id, err := strconv.ParseInt(t.call.Arg, 10, 64)
	if err != nil {
		return nil, invalid("Invalid value at 'metadata_id' (TYPE_INT32), %q", t.call.Arg)
	}
	for _, p := range t.book.allMetadata() {
		if p.id == id {
			return p.render(), nil
		}
	}
	e := notFound()
	e.message = fmt.Sprintf("No developer metadata with ID %d", id) // documented
	return nil, e
}

func (t *txn) metadataSearch() (object, error) {
	var req struct {
		DataFilters []dataFilter `json:"dataFilters"`
	}
	if err := decode(t.call.Body, &req, ""); err != nil {
		return nil, err
	}
	if len(req.DataFilters) == 0 {
		return nil, invalid("Must specify at least one data filter.")
	}
	return matched(t.book, req.DataFilters)
}

// matched lists every entry that some filter selects, once, with the filters.
func matched(b *book, filters []dataFilter) (object, error) {
	selectedBy := map[int64][]any{}
	for i := range filters {
		found, err := filters[i].find(b)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			selectedBy[p.id] = append(selectedBy[p.id], filters[i].render())
		}
	}
	var list []any
	for _, p := range b.allMetadata() {
		if by := selectedBy[p.id]; by != nil {
			list = append(list, object{"developerMetadata": p.render(), "dataFilters": by})
		}
	}
	if list == nil {
		return object{}, nil
	}
	return object{"matchedDeveloperMetadata": list}, nil
}

// render writes the filter back as it came.
func (f *dataFilter) render() object {
	switch {
	case f.GridRange != nil:
		return object{"gridRange": f.GridRange.span().render(f.GridRange.SheetID)}
	case f.Lookup == nil:
		return object{"a1Range": f.A1Range}
	}
	o := object{}
	if f.Lookup.LocationType != "" {
		o["locationType"] = f.Lookup.LocationType
	}
	if f.Lookup.MetadataID != nil {
		o["metadataId"] = *f.Lookup.MetadataID
	}
	if f.Lookup.MetadataKey != nil {
		o["metadataKey"] = *f.Lookup.MetadataKey
	}
	if f.Lookup.MetadataValue != nil {
		o["metadataValue"] = *f.Lookup.MetadataValue
	}
	if f.Lookup.Visibility != "" {
		o["visibility"] = f.Lookup.Visibility
	}
	return object{"developerMetadataLookup": o}
}

// create answers spreadsheets.create. The caller holds the lock.
func (e *Emulator) create(t *txn, keep bool) (any, error) {
	var req struct {
		Properties struct{ Title, Locale, TimeZone, AutoRecalc string } `json:"properties"`
		Sheets     []struct {
			Properties sheetProperties `json:"properties"`
		} `json:"sheets"`
	}
	if len(t.call.Body) > 0 {
		if err := json.Unmarshal(t.call.Body, &req); err != nil {
			return nil, invalid("Invalid JSON payload received. %v", err)
		}
	}
	e.created++
	b := e.newBook(fmt.Sprintf("emu%041x", mix(e.opts.Seed+e.created)), "Untitled spreadsheet")
	b.creator = t.user
	for from, to := range map[string]*string{
		req.Properties.Title: &b.title, req.Properties.Locale: &b.locale,
		req.Properties.TimeZone: &b.timeZone, req.Properties.AutoRecalc: &b.autoRecalc,
	} {
		if from != "" {
			*to = from
		}
	}
	t.book = b
	for i := range req.Sheets {
		if _, err := t.newTab(&req.Sheets[i].Properties); err != nil {
			return nil, err
		}
	}
	if len(b.sheets) == 0 {
		b.sheets = []*sheet{newSheet(b.own, 0, "Sheet1", defaultRows, defaultCols)}
	}
	if keep {
		e.publish(b)
		t.call.Spreadsheet = b.id
	}
	return t.mask.apply(b.render(view{mask: t.mask, user: t.user})), nil
}
