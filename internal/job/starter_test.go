package job

import "testing"

// Headers are recognised as people write them and as programs do.
func TestGuessHeader(t *testing.T) {
	t.Parallel()
	headers := []string{"Name", "booking_no", "E-Mail Address", "Review_Status", "note"}
	for role, want := range map[string]string{"key": "booking_no", "email": "E-Mail Address", "status": "Review_Status", "due": ""} {
		if got := GuessHeader(role, headers); got != want {
			t.Errorf("%s: %q, want %q", role, got, want)
		}
	}
	if got := GuessHeader("key", nil); got != "Key" {
		t.Errorf("without headers: %q", got)
	}
}
