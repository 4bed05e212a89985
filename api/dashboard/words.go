package dashboard

import "github.com/sheetclaim/sheetclaim/internal/claim"

// label is a word with the tone in which it is shown: "" for what is as it should be,
// "off" for what went wrong and needs nobody now, "ask" for what waits for a person.
type label struct{ Word, Tone string }

// outcomeOf is how a run ended, or that it goes on. asks says that somebody has to look
// at it.
func outcomeOf(d claim.Document, asks bool) label {
	l := outcomeWord(d)
	if asks {
		l.Tone = "ask"
	}
	return l
}

func outcomeWord(d claim.Document) label {
	if d.State != claim.RunFinished {
		return label{"running", "on"}
	}
	switch d.Outcome {
	case claim.RunFailed:
		return label{"failed", "off"}
	case claim.RunStopped:
		return label{"stopped", "off"}
	case claim.RunPartial:
		return label{"partial", "off"}
	case claim.RunSent:
		return label{"sent", ""}
	case claim.RunOverlapped:
		return label{"overlapped", "off"}
	case claim.RunNothingDue:
		return label{"nothing due", "off"}
	case claim.RunDry:
		return label{"dry run", "off"}
	}
	return label{string(d.Outcome), "off"}
}

// rowOutcomeOf is what became of a row.
func rowOutcomeOf(o claim.Outcome) label {
	switch o {
	case "":
		return label{"under way", "off"}
	case claim.Sent:
		return label{"sent", ""}
	case claim.Failed:
		return label{"failed, tried again", "off"}
	case claim.GaveUp:
		return label{"gave up", "ask"}
	case claim.Rejected:
		return label{"rejected", "ask"}
	case claim.Unknown:
		return label{"unknown", "ask"}
	case claim.Taken:
		return label{"with another run", "off"}
	case claim.Released:
		return label{"given back", "off"}
	case claim.Skipped:
		return label{"skipped", "ask"}
	case claim.Would:
		return label{"would be sent", "off"}
	}
	return label{string(o), "off"}
}

// story is a kind of doubt in words: its name, and how it comes.
type story struct{ Name, Text string }

// kindOf tells of a kind of doubt, as docs/PROTOCOL.md does at length.
func kindOf(k claim.DoubtKind) story {
	switch k {
	case claim.ClaimOverwritten:
		return story{"Somebody wrote over the claim", "During the wait the status cell got a text that is not ours. Nothing was sent for the row, and that text stays."}
	case claim.ClaimMissing:
		return story{"The claim cannot be read back", "The cell still reads as before the claim, in three reads: reads lag behind writes, or something restored the old value."}
	case claim.ClaimMisplaced:
		return story{"Rows moved under the claim", "Rows moved at the moment of the claim, and its texts landed beside their rows. What was read there was put back where it was known."}
	case claim.RowGone:
		return story{"The row is gone", "No row carries the key any more."}
	case claim.KeyRepeated:
		return story{"The key stands in several rows", "Nobody can say which of them is meant, so none was sent."}
	case claim.AddressChanged:
		return story{"The address changed", "It changed between claim and confirmation. Nothing was sent."}
	case claim.NoLongerDue:
		return story{"The row is no longer due", "Between claim and confirmation it stopped being due, or no longer passes where."}
	case claim.TooSlow:
		return story{"It took too long", "Reading, claiming or confirming took longer than a claim may be old. Nothing was sent."}
	case claim.SheetUnreadable:
		return story{"The sheet could not be read", "It could not be read when the method needed it. Nothing more was sent."}
	case claim.SMTPReplyLost:
		return story{"The mail server's answer was lost", "The message was handed over to its last byte and no complete answer came. It may have gone out; it is never sent again by itself."}
	case claim.MarkUnverified:
		return story{"The sheet does not show the outcome", "The outcome is in the ledger and the message is not sent again. The next run repairs the sheet."}
	case claim.LedgerDisagrees:
		return story{"Sheet and ledger disagree", "They tell different stories of the row, so it was left alone."}
	case claim.LedgerWentBack:
		return story{"The ledger went back in time", "It is older than the sheet: it was restored from a copy, or runs twice. What was under way then is unknown now."}
	case claim.ClearedAfterEnd:
		return story{"The status was cleared after the end", "The ledger knows that the message had ended, so it is not sent again."}
	}
	return story{string(k), ""}
}
