package job_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
)

func text(s string) claim.Cell    { return claim.Cell{Kind: claim.Text, Shown: s} }
func number(n float64) claim.Cell { return claim.Cell{Kind: claim.Number, Number: n, Shown: "≈"} }
func checkbox(b bool) claim.Cell {
	return claim.Cell{Kind: claim.Bool, Bool: b, Shown: "VERO"}
}

func date(s string) claim.Cell {
	t, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		panic(err)
	}
	return claim.Cell{Kind: claim.Date, Number: t.Sub(time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)).Hours() / 24, Shown: "5/1"}
}

// bindWhere binds a job with a condition. The header is id, email, status and what is
// given.
func bindWhere(where string, header ...string) (claim.Binding, error) {
	c, err := job.Parse("c.yaml", []byte(minimal+"    where: "+strconv.Quote(where)+"\n"), environment())
	if err != nil {
		return nil, err
	}
	j, err := c.Job("j")
	if err != nil {
		return nil, err
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return nil, err
	}
	return j.Bind(append([]string{"id", "email", "status"}, header...), berlin)
}

func passes(t *testing.T, where string, header []string, cells ...claim.Cell) (bool, error) {
	t.Helper()
	b, err := bindWhere(where, header...)
	if err != nil {
		t.Fatal(err)
	}
	return b.Passes(claim.Row{Cells: append(make([]claim.Cell, 3), cells...)})
}

func TestWhere(t *testing.T) {
	blank, yes, no := claim.Cell{}, true, false
	tests := []struct {
		where string
		cell  claim.Cell
		want  bool
	}{
		{`visit_status == "completed"`, text("completed"), yes},
		{`visit_status == "completed"`, text(" completed\u00a0"), yes},
		{`visit_status == "completed"`, text("Completed"), no},
		{`lower(visit_status) == "completed"`, text("Completed"), yes},
		{`visit_status == "completed"`, blank, no},
		{`visit_status != "completed"`, blank, yes},
		{`visit_status == ""`, text("  "), yes},
		{`visit_status in ["a", "b"]`, text("b"), yes},
		{`visit_status not in ["a", "b"]`, text("b"), no},
		{`visit_status in ["a", "b"]`, blank, no},
		{`visit_status in ["a", ""]`, blank, yes},
		{`visit_status in [1, "b"]`, text("b"), yes},
		{`visit_status in 1..3`, number(2), yes},
		{`visit_status contains "om"`, text("completed"), yes},
		{`visit_status startsWith "om"`, text("completed"), no},
		{`visit_status endsWith "ed"`, text("completed"), yes},
		{`visit_status matches "^c.*d$"`, text("completed"), yes},
		{`not (visit_status contains "x")`, blank, yes},
		{`visit_status == 5`, number(5), yes},
		{`visit_status >= 4.5`, number(5), yes},
		{`visit_status < 5`, number(5), no},
		{`visit_status > 4`, blank, no},
		{`visit_status <= 4`, blank, no},
		{`visit_status == 0`, blank, no},
		{`visit_status != 0`, blank, yes},
		{`visit_status < "b"`, blank, no},
		{`visit_status < "b"`, text("a"), yes},
		{`visit_status * 2 + 1 == 11`, number(5), yes},
		{`text(visit_status) == "1001"`, number(1001), yes},
		{`text(visit_status) == "TRUE"`, checkbox(true), yes},
		{`number(visit_status) > 10`, text(" 12.5"), yes},
		{`visit_status == true`, checkbox(true), yes},
		{`visit_status == true`, blank, no},
		{`visit_status != true`, checkbox(false), yes},
		{`blank(visit_status)`, blank, yes},
		{`blank(visit_status)`, text("\u00a0"), yes},
		{`blank(visit_status)`, number(0), no},
		{`visit_status == date("2026-01-05")`, date("2026-01-05 00:00"), yes},
		{`visit_status < date("2026-01-05 09:00")`, date("2026-01-05 08:59"), yes},
		{`visit_status < date("2026-01-05T08:00:00Z")`, date("2026-01-05 09:00"), no},
		{`visit_status <= date("2026-01-05T08:00:00Z")`, date("2026-01-05 09:00"), yes},
		{`visit_status.Year() == 2026`, date("2026-01-05 08:59"), yes},
		{`visit_status < date("2026-01-05")`, blank, no},
		{`text(visit_status) == "2026-01-05"`, date("2026-01-05 00:00"), yes},
		{`visit_status - date("2026-01-05") > duration("1h")`, date("2026-01-05 02:00"), yes},
		{`col("VISIT  Status") == "a"`, text("a"), yes},
		{`col("visit_status") == "a"`, text("a"), yes},
		{`Visit_Status == "a"`, text("a"), yes},
		{`let s = lower(visit_status); s == "a" or s == "b"`, text("B"), yes},
		{`visit_status == "a" ? true : false`, text("a"), yes},
		{`len(visit_status) > 2`, text("abc"), yes},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s with %s", tt.where, tt.cell.Value()), func(t *testing.T) {
			got, err := passes(t, tt.where, []string{"Visit status"}, tt.cell)
			if err != nil || got != tt.want {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestCheckboxes(t *testing.T) {
	t.Run("SH17", func(t *testing.T) {
		for _, where := range []string{"approve", "approve and true", "not not approve", "!(!approve)", "approve or false", "approve ? true : false"} {
			for _, tt := range []struct {
				cell claim.Cell
				want bool
			}{
				{checkbox(false), false},
				{checkbox(true), true},
				{text("FALSE"), false},
				{text("false"), false},
				{text("no"), false},
				{claim.Cell{}, false},
				{text("TRUE"), true},
			} {
				got, err := passes(t, where, []string{"Approve"}, tt.cell)
				if err != nil || got != tt.want {
					t.Errorf("%s with %+v = %v, %v", where, tt.cell, got, err)
				}
			}
		}
	})
}

func TestWhereFaults(t *testing.T) {
	tests := []struct {
		where string
		cell  claim.Cell
		want  string
	}{
		{`s == "completed"`, number(5), `where cannot compare s (the number 5) with the text "completed": write text(s), or leave out the quotes`},
		{`s != "completed"`, number(5), `where cannot compare s (the number 5) with the text "completed": write text(s), or leave out the quotes`},
		{`s > 5`, text("many"), `where cannot compare s (the text "many") with the number 5: write number(s), or make the cell a number`},
		{`5 < s`, text("many"), `where cannot compare the number 5 with s (the text "many")`},
		{`s == "TRUE"`, checkbox(true), `where cannot compare s (the checkbox TRUE) with the text "TRUE": a checkbox is compared with true or false, or write s alone`},
		{`s > date("2026-01-05")`, text("5.1.2026"), `where cannot compare s (the text "5.1.2026") with the date 2026-01-05: make the cell a date`},
		{`s > "2026-01-05"`, date("2026-01-05 10:00"), `where cannot compare s (the date 2026-01-05 10:00:00) with the text "2026-01-05": write date("2026-01-31") for a date`},
		{`s < true`, checkbox(true), `where cannot sort s (the checkbox TRUE) and the checkbox TRUE: use == or !=`},
		{`s in ["a", "b"]`, number(5), `where cannot look for s (the number 5) in a list with the text "a": write text(s), or leave out the quotes`},
		{`s in "abc"`, text("a"), `where looks for s (the text "a") in the text "abc": expected a list such as ["a", "b"]`},
		{`s contains "a"`, number(5), `where needs a text, found s (the number 5): write text(s)`},
		{`s`, text("maybe"), `where needs a checkbox, found s (the text "maybe"): compare it, as in s == …`},
		{`s and true`, number(1), `where needs a checkbox, found s (the number 1): compare it, as in s == …`},
		{`not col("S")`, date("2026-01-05 00:00"), `where needs a checkbox, found col("s") (the date 2026-01-05): compare it, as in col("s") == …`},
		{`date(5) > date("2026-01-05")`, text("x"), `where needs a date such as 2026-01-31 or 2026-01-31 09:00, found the number 5`},
		{`number(s) > 1`, text("1,5"), `where needs a number, found the text "1,5"`},
		{`date(text(s)) > date("2026-01-05")`, text("5.1.2026"), `where needs a date such as 2026-01-31 or 2026-01-31 09:00, found the text "5.1.2026"`},
		{`s == 5`, claim.Cell{Kind: claim.Error, Shown: "#REF!"}, `the column "S" shows the error #REF!: repair its formula`},
		{`s + 1 > 2`, text("a"), `where cannot be evaluated: invalid operation: string + int (s is the text "a")`},
	}
	for _, tt := range tests {
		t.Run(tt.where, func(t *testing.T) {
			got, err := passes(t, tt.where, []string{"S"}, tt.cell)
			if got || err == nil || err.Error() != tt.want {
				t.Errorf("got %v, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

func TestWhereErrors(t *testing.T) {
	tests := []struct{ where, want string }{
		{`visit_sttus == "a"`, `where: visit_sttus is no column, did you mean visit_status?; the headers found are "id", "email", "status", "Visit status", "a b", "A-B", "In"`},
		{`col("visit sttus") == "a"`, `where: col("visit sttus") is no column, did you mean "Visit status"?; the headers found are "id", "email", "status", "Visit status", "a b", "A-B", "In"`},
		{`a_b == "a"`, `where: a_b could mean the columns 5 ("a b") and 6 ("A-B"), rename one of them; the headers found are "id", "email", "status", "Visit status", "a b", "A-B", "In"`},
		{`in == "a"`, `c.yaml:12:12: jobs.j.where: the condition cannot be read at character 1: unexpected token Operator("in")`},
		{`visit_status = "a"`, `c.yaml:12:12: jobs.j.where: the condition cannot be read at character 14: a single = says nothing here: write == to compare`},
		{`len(visit_status)`, "c.yaml:12:12: jobs.j.where: expected a condition that is true or false, found a number: compare it with something"},
		{`"a"`, "c.yaml:12:12: jobs.j.where: expected a condition that is true or false, found a text: compare it with something"},
		{`now() > date("2026-01-05")`, `c.yaml:12:12: jobs.j.where: there is no function now; there are abs, blank, ceil, col, date, duration, float, floor, int, len, lower, max, min, number, replace, round, split, text, trim, upper`},
		{`any([1], # > 0)`, "c.yaml:12:12: jobs.j.where: there is no function any; there are abs, blank, ceil, col, date, duration, float, floor, int, len, lower, max, min, number, replace, round, split, text, trim, upper"},
		{`all(split(id, ","), {# == "x"})`, "c.yaml:12:12: jobs.j.where: there is no function all; there are abs, blank, ceil, col, date, duration, float, floor, int, len, lower, max, min, number, replace, round, split, text, trim, upper"},
		{`{"a": 1}`, "c.yaml:12:12: jobs.j.where: expected a condition that is true or false, found something else: compare it with something"},
		{`lowr(visit_status) == "a"`, `c.yaml:12:12: jobs.j.where: there is no function lowr, did you mean lower?; there are abs, blank, ceil, col, date, duration, float, floor, int, len, lower, max, min, number, replace, round, split, text, trim, upper`},
		{`col(visit_status) == "a"`, `c.yaml:12:12: jobs.j.where: col takes one header in quotes, such as col("Visit status")`},
		{`$env["id"] == "a"`, `c.yaml:12:12: jobs.j.where: $env is not supported, name the columns`},
		{`visit_status matches "("`, "c.yaml:12:12: jobs.j.where: the condition cannot be read at character 14: error parsing regexp: missing closing ): `(`"},
	}
	for _, tt := range tests {
		t.Run(tt.where, func(t *testing.T) {
			_, err := bindWhere(tt.where, "Visit status", "a b", "A-B", "In")
			if err == nil || err.Error() != tt.want {
				t.Errorf("error = %v\nwant    %s", err, tt.want)
			}
		})
	}
	if _, err := bindWhere(strings.Repeat(`status == "a" or `, 400)+"true", "x"); err == nil {
		t.Error("a condition of any size is taken")
	}
}

func TestWhereIsBounded(t *testing.T) {
	_, err := passes(t, `s in 1..100000000`, []string{"S"}, number(5))
	if err == nil || !strings.Contains(err.Error(), "memory budget exceeded") {
		t.Errorf("error = %v", err)
	}
}

func TestWhereNamesLikeFunctions(t *testing.T) {
	got, err := passes(t, `max > 1 and max(1, 2) == 2 and date < date("2026-01-06") and col("In") == "y" and len(trim) == 1`, []string{"Max", "Date", "In", "Trim"},
		number(2), date("2026-01-05 23:59"), text("y"), text("z"))
	if err != nil || !got {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWithoutWhereEveryRowPasses(t *testing.T) {
	b, err := columns(t, "{key: id, email: email, status: status}").Bind([]string{"id", "email", "status"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Passes(claim.Row{}); err != nil || !got {
		t.Errorf("got %v, %v", got, err)
	}
}
