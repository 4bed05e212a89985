package mailer

import (
	"strconv"
	"strings"
)

// serviceClosing is the reply before a server closes a connection; it may come at
// any moment (RFC 5321 section 3.8).
const serviceClosing = 421

// policy is a line of the table below. Empty fields fit anything; the first line
// that fits decides.
type policy struct {
	steps   string // steps, divided by blanks
	code    int
	class   string // class and subject of the enhanced code, as "5.7", …
	lo, hi  int    // … and its detail; hi 0: lo alone
	text    string // in the reply, without regard to case
	account bool
	why     string
}

// policies says which refusals are the account's fault and not the row's. They
// burn no attempt and stop the batch.
//
// Two errors are possible. To call the account's fault the row's burns the
// attempts of good rows, three in a run, until they are given up. To call the
// row's fault the account's makes one bad row block its job. So a code is in the
// account's part only when it says that it is about the sender, the login, the
// quota or the whole server; what may be about one recipient or one content is
// the row's, and the caller notices by itself when the rows of a run are all
// refused alike.
//
// Sources: RFC 3463, RFC 4954 section 6, RFC 5248, RFC 7372, and what providers
// document: Google "SMTP error reference" and "Gmail SMTP errors and codes",
// Microsoft "Email non-delivery reports in Exchange Online" and "Improvements in
// SMTP AUTH client submission", Amazon SES "SMTP response codes".
func policies() []policy {
	return []policy{
		{steps: "connect login", account: true, why: "the row is not known yet"},
		{code: serviceClosing, account: true, why: "the server closes, whoever the row is"},

		{steps: "mail", class: "5.6", lo: 7, why: "the row's address needs SMTPUTF8"},
		{steps: "mail", account: true, why: "the server has heard the sender only"},

		{code: 432, account: true, why: "M365: too many connections of this mailbox"},
		{code: 454, account: true, why: "RFC 4954: login lapsed; SES: throttling"},
		{code: 525, account: true, why: "RFC 5248: user account disabled"},
		{code: 530, account: true, why: "RFC 4954: login or STARTTLS needed"},
		{code: 534, account: true, why: "RFC 4954: stronger login needed"},
		{code: 535, account: true, why: "RFC 4954: login refused"},
		{code: 538, account: true, why: "RFC 4954: login needs encryption"},

		{class: "4.2", lo: 1, text: "user you are trying to contact", why: "Gmail: this recipient gets too much"},
		{class: "4.2", lo: 1, account: true, why: "Workspace relay: peak limit"},
		{class: "4.3", lo: 1, hi: 2, account: true, why: "mail system full, or taking no mail"},
		{class: "4.4", lo: 5, account: true, why: "mail system congested"},
		// 4.7.x at RCPT and after is greylisting before all (RFC 6647): the row's.

		{class: "5.1", lo: 7, hi: 8, account: true, why: "bad sender; M365: bad outbound sender"},
		{class: "5.2", lo: 252, account: true, why: "M365: sending as this author is denied"},
		{steps: "data dot", code: 554, class: "5.2", lo: 0, account: true, why: "M365: submission quota exceeded"},
		{class: "5.3", lo: 2, account: true, why: "system takes no mail"},
		{class: "5.4", lo: 5, account: true, why: "Gmail: daily sending quota exceeded"},
		{class: "5.7", lo: 3, account: true, why: "M365: authentication unsuccessful"},
		{class: "5.7", lo: 8, hi: 9, account: true, why: "RFC 4954: credentials or mechanism"},
		{class: "5.7", lo: 11, account: true, why: "encryption needed"},
		{class: "5.7", lo: 13, hi: 14, account: true, why: "account disabled; Gmail: log in by browser"},
		{class: "5.7", lo: 20, hi: 30, account: true, why: "RFC 7372, Gmail: DKIM, SPF, PTR, rate; M365: basic login off"},
		{class: "5.7", lo: 57, account: true, why: "M365: client not logged in"},
		{class: "5.7", lo: 60, account: true, why: "M365: may not send as this sender"},
		{class: "5.7", lo: 64, account: true, why: "M365: relay access denied"},
		{class: "5.7", lo: 139, account: true, why: "M365: basic login switched off"},
		{class: "5.7", lo: 501, hi: 503, account: true, why: "M365: sender banned"},
		{class: "5.7", lo: 506, account: true, why: "M365: bad HELO"},
		{class: "5.7", lo: 508, hi: 509, account: true, why: "M365: address rate, DMARC of the sender"},
		{class: "5.7", lo: 511, account: true, why: "M365: sender banned"},
		{class: "5.7", lo: 606, hi: 649, account: true, why: "M365: sending address banned"},
		{class: "5.7", lo: 700, hi: 799, account: true, why: "M365: tenant over its threshold or not provisioned"},

		// Postfix puts off what it has against a sender until RCPT (smtpd_delay_reject),
		// under codes that are the recipient's elsewhere.
		{steps: "rcpt", text: "sender address rejected", account: true, why: "Postfix: sender refused"},
		{steps: "rcpt", text: "relay access denied", account: true, why: "Postfix: not logged in, not our domain"},
		{steps: "rcpt", text: "relaying denied", account: true, why: "Sendmail: the same"},
		{steps: "rcpt", text: "relay not permitted", account: true, why: "Exim: the same"},
		{steps: "rcpt", text: "unable to relay", account: true, why: "Exchange: the same"},
	}
}

// accountFault reports whether a refusal is the account's fault.
func accountFault(step string, rep reply) bool {
	for _, p := range policies() {
		if p.fits(step, rep) {
			return p.account
		}
	}
	return false
}

func (p policy) fits(step string, rep reply) bool {
	return (p.steps == "" || strings.Contains(" "+p.steps+" ", " "+step+" ")) &&
		(p.code == 0 || p.code == rep.code) &&
		(p.class == "" || p.fitsEnhanced(rep.enh)) &&
		(p.text == "" || strings.Contains(strings.ToLower(rep.text), p.text))
}

func (p policy) fitsEnhanced(enh string) bool {
	detail, ok := strings.CutPrefix(enh, p.class+".")
	if !ok {
		return false
	}
	n, err := strconv.Atoi(detail)
	return err == nil && n >= p.lo && n <= max(p.lo, p.hi)
}
