package claim

// DoubtKind names a thing that the method saw and will not guess about. The list
// is closed; docs/PROTOCOL.md has a paragraph for each.
type DoubtKind string

const (
	ClaimOverwritten DoubtKind = "claim_overwritten"
	ClaimMissing     DoubtKind = "claim_missing"
	ClaimMisplaced   DoubtKind = "claim_misplaced"
	RowGone          DoubtKind = "row_gone"
	KeyRepeated      DoubtKind = "key_repeated"
	AddressChanged   DoubtKind = "address_changed"
	NoLongerDue      DoubtKind = "no_longer_due"
	TooSlow          DoubtKind = "too_slow"
	SheetUnreadable  DoubtKind = "sheet_unreadable"
	SMTPReplyLost    DoubtKind = "smtp_reply_lost"
	MarkUnverified   DoubtKind = "mark_unverified"
	LedgerDisagrees  DoubtKind = "ledger_disagrees"
	LedgerWentBack   DoubtKind = "ledger_went_back"
	ClearedAfterEnd  DoubtKind = "cleared_after_end"
)

// Doubt is one such thing, with the evidence and what a person can do about it.
type Doubt struct {
	Kind   DoubtKind `json:"kind"`
	Row    int       `json:"row,omitempty"`
	Key    string    `json:"key,omitempty"`
	Detail string    `json:"detail"`
	Advice string    `json:"advice"`
}

// DoubtKinds returns the closed list, in the order of docs/PROTOCOL.md.
func DoubtKinds() []DoubtKind {
	return []DoubtKind{
		ClaimOverwritten, ClaimMissing, ClaimMisplaced, RowGone, KeyRepeated, AddressChanged, NoLongerDue,
		TooSlow, SheetUnreadable, SMTPReplyLost, MarkUnverified, LedgerDisagrees, LedgerWentBack, ClearedAfterEnd,
	}
}

// Advice says what a person can do about a doubt of kind k.
func (k DoubtKind) Advice() string {
	switch k {
	case ClaimOverwritten:
		return "somebody wrote over the claim during the wait; nothing was sent for this row. Find the other tool or person, and let only one of them handle the sheet"
	case ClaimMissing:
		return "the claim cannot be read back; nothing was sent. The next run tries again. If this repeats, look for a script or filter that restores old values"
	case ClaimMisplaced:
		return "rows moved at the moment of the claim; nothing was sent. What was read there has been put back where it was known; look at the rows named here"
	case RowGone:
		return "the row with this key is no longer in the range. If it was deleted on purpose there is nothing to do"
	case KeyRepeated:
		return "the same key stands in several rows. Give each row a key of its own, or delete the copy"
	case AddressChanged:
		return "the key or address changed between claim and confirmation; nothing was sent. The next run reads the new value"
	case NoLongerDue:
		return "the row stopped being due or no longer passes where; nothing was sent. If that is right there is nothing to do"
	case TooSlow:
		return "the claim could not be written and confirmed in time; nothing was sent. The next run tries again. If this repeats, raise the job's wait or look at the connection to Google"
	case SheetUnreadable:
		return "the sheet could not be read; nothing more was sent. Check that the tab and its headers still exist and that the sheet is shared"
	case SMTPReplyLost:
		return "the mail server may have the message. Look for the Message-ID in its log or in the Sent folder, then type sent or resend into the status cell, or use sheetclaim settle"
	case MarkUnverified:
		return "the message has its outcome in the ledger, but the sheet does not show it. The next run repairs the sheet; do not clear the cell"
	case LedgerDisagrees:
		return "the sheet and the ledger tell different stories of this row; it was left alone. Type sent or resend into the status cell"
	case LedgerWentBack:
		return "the ledger is older than the sheet (restored from a backup, or running twice). Use one ledger; what was under way when it was saved is now unknown"
	case ClearedAfterEnd:
		return "the status was cleared after the message had ended; it is not sent again. Type resend into the cell to send it again"
	}
	return ""
}
