package job_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sheetclaim/sheetclaim/internal/claim"
	"github.com/sheetclaim/sheetclaim/internal/job"
)

func TestNormalize(t *testing.T) {
	tests := []struct{ name, header, want string }{
		{"SH01 trailing blank and NBSP", "First name \u00a0", "first name"},
		{"SH01 NBSP inside", "First\u00a0name", "first name"},
		{"SH04 line break", "Send\ndate", "send date"},
		{"SH04 line break of Windows", "Send\r\n  date", "send date"},
		{"case", "E-MAIL", "e-mail"},
		{"case that is no one to one", "STRASSE", "strasse"},
		{"case that is no one to one, lower", "Straße", "strasse"},
		{"accents apart", "Cafe\u0301", "café"},
		{"other scripts", " Имя ", "имя"},
		{"blank", " \t\u00a0", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := job.Normalize(tt.header); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestIdentifier(t *testing.T) {
	for header, want := range map[string]string{
		"Visit status": "visit_status", "  E-Mail (work) ": "e_mail_work", "2nd name": "_2nd_name", "__a__b__": "a_b",
		"Größe": "größe", "Имя клиента": "имя_клиента", "名前": "名前", "%%%": "", "": "", "Cafe\u0301": "café", "A\u00a0\nB": "a_b",
	} {
		if got := job.Identifier(header); got != want {
			t.Errorf("%q = %q, want %q", header, got, want)
		}
	}
}

// columns is a job with these columns and the smallest message.
func columns(t *testing.T, yaml string) *claim.Job {
	t.Helper()
	c := mustParse(t, strings.Replace(minimal, "{key: id, email: email, status: status}", yaml, 1))
	j, err := c.Job("j")
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestColumns(t *testing.T) {
	j := columns(t, "{key: [email, visit date], email: E-Mail, status: STATUS, due: Send date, note: note, sent_at: sent, claimed_at: at, claimed_by: by, attempts: n}")
	b, err := j.Bind([]string{"status ", "", "Email", "n", "", "send\ndate", "Other", "Other", "Visit  Date", "E-mail", "by", "at", "sent", "note"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := claim.Columns{Key: []int{2, 8}, Email: 9, Status: 0, Due: 5, Note: 13, SentAt: 12, ClaimedAt: 11, ClaimedBy: 10, Attempt: 3}
	if diff := cmp.Diff(want, b.Columns()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{0, 2, 3, 5, 8, 9, 10, 11, 12, 13}, b.Used()); diff != "" {
		t.Errorf("used: blank and repeated headers that nobody maps must not matter: %s", diff)
	}
	b, err = columns(t, "{key: id, email: email, status: status}").Bind([]string{"id", "email", "status"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want = claim.Columns{Key: []int{0}, Email: 1, Status: 2, Due: -1, Note: -1, SentAt: -1, ClaimedAt: -1, ClaimedBy: -1, Attempt: -1}
	if diff := cmp.Diff(want, b.Columns()); diff != "" {
		t.Error(diff)
	}
}

func TestColumnErrors(t *testing.T) {
	tests := []struct {
		name   string
		header []string
		want   string
	}{
		{
			"SH02 renamed",
			[]string{"id", "E-mail", "status"},
			`columns.email: there is no column "email", did you mean "E-mail"?; the headers found are "id", "E-mail", "status"`,
		},
		{
			"several missing",
			[]string{"id "},
			`columns.email: there is no column "email"; columns.status: there is no column "status"; the headers found are "id "`,
		},
		{
			"twice",
			[]string{"id", "email", "Status", "x", "status\u00a0"},
			`columns.status: "status" could mean the columns 3 ("Status") and 5 ("status\u00a0"), rename one of them; the headers found are "id", "email", "Status", "x", "status\u00a0"`,
		},
		{
			"SH21 blank",
			[]string{"", " "},
			"the first row of the range is empty: expected the header row, check the range",
		},
		{
			"SH21 none", nil,
			"the first row of the range is empty: expected the header row, check the range",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := columns(t, "{key: id, email: email, status: status}").Bind(tt.header, nil)
			if err == nil || err.Error() != tt.want {
				t.Errorf("error = %v\nwant    %s", err, tt.want)
			}
		})
	}
}

func TestLongHeadersAreCut(t *testing.T) {
	header := make([]string, 60)
	for i := range header {
		header[i] = strings.Repeat("x", i+1)
	}
	_, err := columns(t, "{key: id, email: email, status: status}").Bind(header, nil)
	if err == nil || !strings.HasSuffix(err.Error(), ", and 20 more") {
		t.Errorf("error = %v", err)
	}
}
