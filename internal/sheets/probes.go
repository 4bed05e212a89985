package sheets

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/googleapi"
	api "google.golang.org/api/sheets/v4"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Observation is what one undocumented behaviour turned out to be.
type Observation struct {
	Name   string // what was asked
	Answer string
	Bad    bool // the method relies on something else
	Open   bool // it could not be asked
}

// probeKey is the key of the metadata that probes make.
const probeKey = "sheetclaim.probe"

func (o *Observation) unasked(err error) {
	o.Answer, o.Bad, o.Open = "could not be asked: "+refusal(err), false, true
}

// ObserveFence asks what the fence stands on: that an entry comes with the cells by
// both kinds of read, and that its number cannot be used again.
func (s *Scratch) ObserveFence(ctx context.Context) ([]Observation, error) {
	g, err := s.c.Read(ctx, s.Target, claim.Ask{Fence: true})
	if err != nil {
		return nil, err
	}
	stamp := claim.Batch{Stamp: claim.Stamp{N: 1, Mark: "probe", Ledger: "probe", Count: 1}}
	if _, err := s.c.Claim(ctx, g, stamp); err != nil {
		return nil, err
	}
	var out []Observation
	byURL := Observation{Name: "spreadsheets.get with ranges shows the fence"}
	g, err = s.c.Read(ctx, s.Target, claim.Ask{Fence: true})
	out = append(out, byURL.fence(g, err))

	byFilter := Observation{Name: "getByDataFilter shows the fence"}
	g, err = s.byFilter(ctx)
	out = append(out, byFilter.fence(g, err))

	out = append(out, s.searched(ctx))

	again := Observation{Name: "a fence number that is used up is refused", Answer: "yes"}
	switch _, err := s.c.Claim(ctx, &claim.Grid{Target: s.Target, Tab: s.Tab}, stamp); {
	case err == nil:
		again.Answer, again.Bad = "NO: a second entry with the same id was taken, so the fence keeps nobody apart", true
	case !errors.Is(err, claim.ErrFenced):
		again.Answer, again.Bad = "it is refused in other words than known, which would be taken for an error: "+refusal(err), true
	}
	return append(out, again), nil
}

func (o Observation) fence(g *claim.Grid, err error) Observation {
	switch {
	case err != nil:
		o.Answer, o.Bad = "could not be asked: "+refusal(err), true
	case len(g.Fence) == 0:
		o.Answer, o.Bad = "NO: the answer lacks developerMetadata. THE FENCE CANNOT BE READ, and every second claim on a tab would be refused", true
	default:
		o.Answer = "yes"
	}
	return o
}

// searched asks the other way to read the fence, which takes a call of its own.
func (s *Scratch) searched(ctx context.Context) Observation {
	o := Observation{Name: "developerMetadata:search shows the fence"}
	req := &api.SearchDeveloperMetadataRequest{DataFilters: []*api.DataFilter{{DeveloperMetadataLookup: &api.DeveloperMetadataLookup{MetadataKey: fenceKey}}}}
	found := 0
	_, f := s.c.read(ctx, call{name: "check", spreadsheet: s.Spreadsheet}, false, func(ctx context.Context) error {
		answer, err := s.c.service.Spreadsheets.DeveloperMetadata.Search(s.Spreadsheet, req).Context(ctx).Do()
		if err == nil {
			found = len(answer.MatchedDeveloperMetadata)
		}
		return err
	})
	if f != nil {
		o.unasked(f.words)
		return o
	}
	o.Answer = fmt.Sprintf("%d entries in the spreadsheet (nothing relies on it)", found)
	return o
}

// byFilter reads as a claim of many scattered rows does.
func (s *Scratch) byFilter(ctx context.Context) (*claim.Grid, error) {
	area, err := ParseRange(s.Range)
	if err != nil {
		return nil, err
	}
	req := &api.GetSpreadsheetByDataFilterRequest{DataFilters: filters(s.Tab.ID, []Range{area})}
	var g *claim.Grid
	_, f := s.c.read(ctx, call{name: "check", spreadsheet: s.Spreadsheet}, false, func(ctx context.Context) error {
		book, err := s.c.service.Spreadsheets.GetByDataFilter(s.Spreadsheet, req).Fields(googleapi.Field(readFields(true))).Context(ctx).Do()
		if err == nil {
			g, err = answerOf(book).grid(s.Target, area, "", claim.Ask{Tab: &s.Tab, Fence: true})
		}
		return err
	})
	if f != nil {
		return nil, f.words
	}
	return g, nil
}

// ObserveRest asks about everything else, each question on cells of its own. What
// cannot be asked is an answer too; only the end of ctx is an error.
func (s *Scratch) ObserveRest(ctx context.Context) ([]Observation, error) {
	var out []Observation
	for _, ask := range []struct {
		name string
		do   func(context.Context) (answer string, bad bool, err error)
	}{
		{"one answer shows one state", s.oneState},
		{"reads lag behind writes by", s.lag},
		{"findReplace with an empty replacement empties the cell", s.emptyReplacement},
		{"findReplace with ^$ on blank cells changes", s.blankCells},
		{"findReplace over a long column takes", s.longColumn},
		{"findReplace reaches rows hidden by hand", s.hiddenByHand},
		{"findReplace reaches rows hidden by a filter", s.hiddenByFilter},
		{"updating metadata that is not there", s.updateNothing},
		{"deleting metadata that is not there", s.deleteNothing},
	} {
		answer, bad, err := ask.do(ctx)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		o := Observation{Name: ask.name, Answer: answer, Bad: bad}
		if err != nil {
			o.unasked(err)
		}
		out = append(out, o)
	}
	return out, nil
}

// oneState changes two cells, far apart, and a metadata entry in each of several
// batches, and reads all three meanwhile.
func (s *Scratch) oneState(ctx context.Context) (string, bool, error) {
	const states, first, last = 4, 0, scratchRows - 1
	write := func(n int, metadata *api.Request) error {
		text := [][]string{{strconv.Itoa(n)}}
		_, err := s.send(ctx, s.put(first, probeColumn, text), metadata, s.put(last, probeColumn, text))
		return err
	}
	value := func(n int) *api.DeveloperMetadata {
		return &api.DeveloperMetadata{
			MetadataKey: probeKey, MetadataValue: strconv.Itoa(n), Visibility: fenceVisibility,
			Location: &api.DeveloperMetadataLocation{SheetId: s.Tab.ID},
		}
	}
	if err := write(0, &api.Request{CreateDeveloperMetadata: &api.CreateDeveloperMetadataRequest{DeveloperMetadata: value(0)}}); err != nil {
		return "", false, err
	}
	written := make(chan error, 1)
	go func() {
		var err error
		for n := 1; n <= states && err == nil; n++ {
			err = write(n, &api.Request{UpdateDeveloperMetadata: &api.UpdateDeveloperMetadataRequest{
				DataFilters:       []*api.DataFilter{{DeveloperMetadataLookup: &api.DeveloperMetadataLookup{MetadataKey: probeKey}}},
				DeveloperMetadata: &api.DeveloperMetadata{MetadataValue: strconv.Itoa(n)}, Fields: "metadataValue",
			}})
		}
		written <- err
	}()
	reads, torn := 0, 0
	for ended := false; !ended && reads < 3*states; reads++ {
		ended = len(written) > 0
		cells, metadata, err := s.look(ctx, first, last)
		if err != nil {
			return "", false, err
		}
		if cells[0] != cells[1] || cells[0] != metadata[probeKey] {
			torn++
		}
	}
	if err := <-written; err != nil { // a late write would fall into the next probe's cells
		return "", false, err
	}
	if torn > 0 {
		return fmt.Sprintf("NO: %d of %d reads mixed two states of cells and metadata", torn, reads), true, nil
	}
	return fmt.Sprintf("yes, in all of %d reads beside %d writes", reads, states), false, nil
}

// lag writes a cell and reads it until it shows.
func (s *Scratch) lag(ctx context.Context) (string, bool, error) {
	const times, patience = 4, 30 * time.Second
	var most time.Duration
	old := 0
	for n := range times {
		text := fmt.Sprintf("lag %d", n)
		if _, err := s.send(ctx, s.put(1, probeColumn, [][]string{{text}})); err != nil {
			return "", false, err
		}
		for began := s.c.now(); ; {
			cells, _, err := s.look(ctx, 1)
			if err != nil {
				return "", false, err
			}
			if cells[0] == text {
				break
			}
			old++
			if most = max(most, s.c.now().Sub(began)); most > patience {
				return "more than " + patience.String(), true, nil
			}
			if err := sleep(ctx, 500*time.Millisecond); err != nil {
				return "", false, err
			}
		}
	}
	if old == 0 {
		return fmt.Sprintf("nothing: %d of %d first reads were fresh", times, times), false, nil
	}
	return fmt.Sprintf("up to %s: %d old answers after %d writes", most.Round(100*time.Millisecond), old, times), most > 5*time.Second, nil
}

// replaced puts a text into a cell of the probe column, prepares something, replaces
// it, and answers the count and what the cell shows then.
func (s *Scratch) replaced(ctx context.Context, row int, from, to string, before ...*api.Request) (count int64, shows string, err error) {
	requests := append([]*api.Request{s.put(row, probeColumn, [][]string{{from}})}, before...)
	if _, err := s.send(ctx, requests...); err != nil {
		return 0, "", err
	}
	answer, err := s.send(ctx, replaceRequest(s.area(0, scratchRows), from, to))
	if err != nil {
		return 0, "", err
	}
	cells, _, err := s.look(ctx, row)
	if err != nil {
		return 0, "", err
	}
	return occurrences(answer), cells[0], nil
}

// occurrences is what the only request of a batch replaced; a count of 0 is left out.
func occurrences(answer *api.BatchUpdateSpreadsheetResponse) int64 {
	if len(answer.Replies) == 0 || answer.Replies[0] == nil || answer.Replies[0].FindReplace == nil {
		return 0
	}
	return answer.Replies[0].FindReplace.OccurrencesChanged
}

func (s *Scratch) emptyReplacement(ctx context.Context) (string, bool, error) {
	count, shows, err := s.replaced(ctx, 2, "to be emptied", "")
	if err == nil && (count != 1 || shows != "") {
		return fmt.Sprintf("NO: count %d, the cell shows %q; rows could not be given back", count, shows), true, nil
	}
	return "yes, with a count of 1", false, err
}

func (s *Scratch) hiddenByHand(ctx context.Context) (string, bool, error) {
	const row = 3
	count, shows, err := s.replaced(ctx, row, "hidden by hand", "found", &api.Request{UpdateDimensionProperties: &api.UpdateDimensionPropertiesRequest{
		Range:      &api.DimensionRange{SheetId: s.Tab.ID, Dimension: "ROWS", StartIndex: row, EndIndex: row + 1},
		Properties: &api.DimensionProperties{HiddenByUser: true}, Fields: "hiddenByUser",
	}})
	return reached(count, shows), count != 1 || shows != "found", err
}

func (s *Scratch) hiddenByFilter(ctx context.Context) (string, bool, error) {
	const row, text = 4, "hidden by a filter"
	count, shows, err := s.replaced(ctx, row, text, "found", &api.Request{SetBasicFilter: &api.SetBasicFilterRequest{Filter: &api.BasicFilter{
		Range:       s.area(0, scratchRows),
		FilterSpecs: []*api.FilterSpec{{ColumnIndex: probeColumn, FilterCriteria: &api.FilterCriteria{HiddenValues: []string{text}}}},
	}}})
	if err != nil {
		return "", false, err
	}
	_, err = s.send(ctx, &api.Request{ClearBasicFilter: &api.ClearBasicFilterRequest{SheetId: s.Tab.ID}})
	return reached(count, shows), count != 1 || shows != "found", err
}

func reached(count int64, shows string) string {
	if count == 1 && shows == "found" {
		return "yes"
	}
	return fmt.Sprintf("NO: count %d, the cell shows %q; claims in hidden rows could not be marked", count, shows)
}

func (s *Scratch) blankCells(ctx context.Context) (string, bool, error) {
	const row, end = 9, 14
	answer, err := s.send(ctx, &api.Request{FindReplace: &api.FindReplaceRequest{Find: "^$", Replacement: "was blank", SearchByRegex: true, Range: s.area(row, end)}})
	if err != nil {
		return "", false, err
	}
	cells, _, err := s.look(ctx, row)
	return fmt.Sprintf("%d of %d; the first shows %q (nothing relies on it)", occurrences(answer), end-row, strings.Join(cells, "")), false, err
}

// longColumn times a mark, which looks through a whole column.
func (s *Scratch) longColumn(ctx context.Context) (string, bool, error) {
	const from, text = 20, "filler"
	filled := text
	fill := &api.Request{RepeatCell: &api.RepeatCellRequest{
		Range: s.area(from, scratchRows), Fields: "userEnteredValue",
		Cell: &api.CellData{UserEnteredValue: &api.ExtendedValue{StringValue: &filled}},
	}}
	if _, err := s.send(ctx, fill, s.put(scratchRows-1, probeColumn, [][]string{{"the last"}})); err != nil {
		return "", false, err
	}
	began := s.c.now()
	answer, err := s.send(ctx, replaceRequest(s.area(0, scratchRows), "the last", "the end"))
	took := s.c.now().Sub(began)
	if err != nil {
		return "", false, err
	}
	return fmt.Sprintf("%s for %d rows that are filled, count %d", took.Round(time.Millisecond), scratchRows, occurrences(answer)),
		occurrences(answer) != 1, nil
}

func (s *Scratch) updateNothing(ctx context.Context) (string, bool, error) {
	answer, err := s.send(ctx, &api.Request{UpdateDeveloperMetadata: &api.UpdateDeveloperMetadataRequest{
		DataFilters:       []*api.DataFilter{{DeveloperMetadataLookup: &api.DeveloperMetadataLookup{MetadataKey: probeKey + ".none"}}},
		DeveloperMetadata: &api.DeveloperMetadata{MetadataValue: "x"}, Fields: "metadataValue",
	}})
	return nothing(answer, err), false, nil
}

func (s *Scratch) deleteNothing(ctx context.Context) (string, bool, error) {
	answer, err := s.send(ctx, &api.Request{DeleteDeveloperMetadata: &api.DeleteDeveloperMetadataRequest{
		DataFilter: &api.DataFilter{DeveloperMetadataLookup: &api.DeveloperMetadataLookup{MetadataKey: probeKey + ".none"}},
	}})
	return nothing(answer, err), false, nil
}

func nothing(answer *api.BatchUpdateSpreadsheetResponse, err error) string {
	if err != nil {
		return "is refused: " + refusal(err)
	}
	return fmt.Sprintf("is taken, and changes nothing (%d reply)", len(answer.Replies))
}
