package claim

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestEveryStateIsReachedAndEnds(t *testing.T) {
	t.Parallel()
	reached := map[State]bool{Claimed: true}
	for changed := true; changed; {
		changed = false
		for from, tos := range moves {
			for _, to := range tos {
				if reached[from] && !reached[to] {
					reached[to], changed = true, true
				}
			}
		}
	}
	for _, s := range States() {
		if !reached[s] {
			t.Errorf("state %q cannot be reached", s)
		}
		if len(moves[s]) == 0 {
			t.Errorf("state %q has no way on", s)
		}
		if s.Ended() != (AfterCrash(s) == Leave) {
			t.Errorf("state %q: ended and remedy %q disagree", s, AfterCrash(s))
		}
	}
}

func TestNothingLeavesAfterReturning(t *testing.T) {
	t.Parallel()
	for _, s := range []State{Returning, Returned} {
		if CanMove(s, Sending) || CanMove(s, Confirmed) {
			t.Errorf("a row that is %s could still be sent", s)
		}
	}
}

// docs/PROTOCOL.md tells people what the code does; this keeps it true.
func TestProtocolDocument(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	var want []string
	for _, s := range States() {
		tos := make([]string, len(moves[s]))
		for i, to := range moves[s] {
			tos[i] = string(to)
		}
		want = append(want, "| `"+string(s)+"` | "+strings.Join(tos, ", ")+" | "+string(AfterCrash(s))+" |")
	}
	var got []string
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(line, "| `") && slices.Contains(States(), State(strings.Split(line, "`")[1])) {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table of states in docs/PROTOCOL.md is not the code's.\ngot:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, k := range DoubtKinds() {
		if !strings.Contains(doc, "### `"+string(k)+"`") {
			t.Errorf("docs/PROTOCOL.md has no paragraph on the doubt %q", k)
		}
		if k.Advice() == "" {
			t.Errorf("doubt %q has no advice", k)
		}
	}
	for _, s := range []Step{StepPick, StepClaim, StepWait, StepConfirm, StepSend, StepMark, StepVerify} {
		if !strings.Contains(doc, "**"+string(s)+"**") {
			t.Errorf("docs/PROTOCOL.md does not describe the step %q", s)
		}
		if method[s] == nil {
			t.Errorf("step %q is not in the method", s)
		}
	}
}
