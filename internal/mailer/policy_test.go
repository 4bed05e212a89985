package mailer

import "testing"

// TestPolicy has the codes whose meaning depends on the step or on a word, and one
// of each group.
func TestPolicy(t *testing.T) {
	for _, tc := range []struct {
		step    string
		code    int
		text    string
		account bool
	}{
		{"connect", 554, "5.7.1 no", true},
		{"login", 535, "5.7.8 no", true},
		{"mail", 550, "5.1.1 whatever", true},
		{"mail", 553, "5.7.1 Sender address rejected: not owned by user", true},
		{"mail", 452, "4.3.1 Insufficient system storage", true},
		{"mail", 550, "5.6.7 address needs SMTPUTF8", false},
		{"rcpt", 421, "4.7.0 later", true},
		{"dot", 421, "", true},

		{"rcpt", 450, "4.2.1 Peak SMTP relay limit exceeded", true},
		{"rcpt", 450, "4.2.1 The user you are trying to contact is receiving mail too quickly", false},
		{"rcpt", 450, "4.7.1 Greylisted", false},
		{"rcpt", 451, "4.7.1 Greylisted", false},
		{"rcpt", 450, "4.7.0 rate limit", false},
		{"rcpt", 451, "4.7.500 Server busy", false},
		{"dot", 451, "4.7.1 Greylisted", false},
		{"dot", 454, "Throttling failure: Daily message quota exceeded.", true},
		{"dot", 432, "4.3.2 STOREDRV.ClientSubmit; sender thread limit exceeded", true},
		{"dot", 452, "4.3.1 Insufficient system resources", true},
		{"dot", 451, "4.3.0 queue file write error", false},
		{"dot", 451, "4.4.2 timeout", false},
		{"rcpt", 452, "4.2.2 mailbox full", false},
		{"rcpt", 452, "4.5.3 too many recipients", false},

		{"rcpt", 530, "5.7.1 Authentication required", true},
		{"rcpt", 550, "5.1.1 user unknown", false},
		{"rcpt", 550, "no such user", false},
		{"rcpt", 550, "5.7.1 not wanted here", false},
		{"rcpt", 554, "5.7.1 <a@x.test>: Relay access denied", true},
		{"rcpt", 550, "5.7.1 relaying denied", true},
		{"rcpt", 550, "5.7.54 SMTP; Unable to relay recipient in non-accepted domain", true},
		{"rcpt", 553, "5.7.1 <a@x.test>: Sender address rejected: not owned by user b", true},
		{"rcpt", 554, "5.7.1 <a@x.test>: Recipient address rejected: Access denied", false},
		{"rcpt", 550, "5.1.8 Access denied, bad outbound sender", true},
		{"dot", 550, "5.4.5 Daily user sending limit exceeded", true},
		{"dot", 550, "5.4.50 not that code", false},
		{"dot", 550, "5.7.1 message looks like spam", false},
		{"dot", 550, "5.7.26 unauthenticated mail from acme.test", true},
		{"dot", 550, "5.7.60 Client does not have permissions to send as this sender", true},
		{"dot", 550, "5.7.501 Access denied, spam abuse detected", true},
		{"dot", 550, "5.7.505 Access denied, banned recipient", false},
		{"dot", 550, "5.7.705 tenant has exceeded threshold", true},
		{"dot", 554, "5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException", true},
		{"rcpt", 554, "5.2.0 mailbox trouble", false},
		{"dot", 552, "5.3.4 too big", false},
		{"dot", 552, "5.2.3 too big for this mailbox", false},
	} {
		if got := accountFault(tc.step, newReply(tc.code, tc.text)); got != tc.account {
			t.Errorf("%s: %d %s: the account's fault: %t, want %t", tc.step, tc.code, tc.text, got, tc.account)
		}
	}
}
