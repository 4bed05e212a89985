package sheetsemu

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/api/sheets/v4"
)

// client is Google's own client over the in-process transport.
func client(t testing.TB, emu *Emulator, caller string) *sheets.Service {
	t.Helper()
	srv, err := sheets.NewService(context.Background(), option.WithHTTPClient(&http.Client{Transport: emu.Transport(caller)}))
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

// letters is an emulator with a small sheet S1, tab Letters.
func letters(t *testing.T, opts Options) *Emulator {
	t.Helper()
	emu := New(opts)
	const csv = "key,email,status\nk1,a@example.org,\nk2,b@example.org,sent\nk3,c@example.org,\n"
	if err := emu.LoadCSV("S1", "Letters", strings.NewReader(csv)); err != nil {
		t.Fatal(err)
	}
	return emu
}

func batch(t *testing.T, srv *sheets.Service, reqs ...*sheets.Request) (*sheets.BatchUpdateSpreadsheetResponse, error) {
	t.Helper()
	return srv.Spreadsheets.BatchUpdate("S1", &sheets.BatchUpdateSpreadsheetRequest{Requests: reqs}).Do()
}

func mustBatch(t *testing.T, srv *sheets.Service, reqs ...*sheets.Request) *sheets.BatchUpdateSpreadsheetResponse {
	t.Helper()
	resp, err := batch(t, srv, reqs...)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// wantRefusal checks the status and the whole message.
func wantRefusal(t *testing.T, err error, code int, message string) {
	t.Helper()
	var refused *googleapi.Error
	if !errors.As(err, &refused) {
		t.Fatalf("error %v is no answer of the API", err)
	}
	if refused.Code != code || refused.Message != message {
		t.Errorf("got %d %q\nwant %d %q", refused.Code, refused.Message, code, message)
	}
}

// raw sends a request as it is.
func raw(t *testing.T, emu *Emulator, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://sheets.googleapis.com"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := emu.Transport("w1").RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func rowMetadata(id int64, row int64, value string) *sheets.Request {
	return &sheets.Request{CreateDeveloperMetadata: &sheets.CreateDeveloperMetadataRequest{
		DeveloperMetadata: &sheets.DeveloperMetadata{
			MetadataId: id, MetadataKey: "claim", MetadataValue: value, Visibility: "DOCUMENT",
			Location: &sheets.DeveloperMetadataLocation{DimensionRange: &sheets.DimensionRange{
				Dimension: "ROWS", StartIndex: row - 1, EndIndex: row, ForceSendFields: []string{"SheetId", "StartIndex"},
			}},
		},
	}}
}

func sheetMetadata(id int64, value string) *sheets.Request {
	return &sheets.Request{CreateDeveloperMetadata: &sheets.CreateDeveloperMetadataRequest{
		DeveloperMetadata: &sheets.DeveloperMetadata{
			MetadataId: id, MetadataKey: "fence", MetadataValue: value, Visibility: "DOCUMENT",
			Location: &sheets.DeveloperMetadataLocation{SheetId: 0, ForceSendFields: []string{"SheetId"}},
		},
	}}
}

func writeCell(row, col int64, text string) *sheets.Request {
	return &sheets.Request{UpdateCells: &sheets.UpdateCellsRequest{
		Start:  &sheets.GridCoordinate{RowIndex: row, ColumnIndex: col},
		Rows:   []*sheets.RowData{{Values: []*sheets.CellData{{UserEnteredValue: &sheets.ExtendedValue{StringValue: &text}}}}},
		Fields: "userEnteredValue",
	}}
}
