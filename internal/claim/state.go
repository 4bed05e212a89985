package claim

import "slices"

// State says how far a claim has got. It is progress, not fate: what became of
// the message is its Outcome. States are words, since people read the ledger.
type State string

const (
	// Claimed: the key is taken in the ledger. The claim text may or may not be in
	// the sheet yet. The run moves it on when it has read its own text back; after
	// a crash nothing has left the house, so the row is given back.
	Claimed State = "claimed"

	// Confirmed: the run has read its own text back, on the row with its key. A mail
	// transaction may have begun, but without a final dot the server has nothing:
	// after a crash the row is given back.
	Confirmed State = "confirmed"

	// Sending: the content is with the mail server and the final dot comes next. It
	// is on disk before the dot is written. After a crash nobody can know whether the
	// message went out: its outcome becomes unknown, and a person decides.
	Sending State = "sending"

	// HandedOut: a caller that does the work itself has been given the row, once. It is
	// on disk before the first byte of the answer. When the caller has not settled the
	// row by the end of the lease, nobody can know what it did: unknown, as for sending.
	HandedOut State = "handed_out"

	// Settled: the outcome is known and on disk; the sheet does not show it yet.
	// After a crash the sheet is marked from the ledger.
	Settled State = "settled"

	// Marked: the sheet was told the outcome. After a crash the mark is verified.
	Marked State = "marked"

	// Verified: the mark was read back, or the doubt about it has been reported. The
	// claim has ended. A verified failure may be claimed again for its next attempt.
	Verified State = "verified"

	// Returning: the row is being given back. From here its commit record fails, so
	// no message can leave any more. After a crash the give-back is repeated.
	Returning State = "returning"

	// Returned: the sheet shows what stood there before, and the key is free. The
	// claim has ended.
	Returned State = "returned"
)

// States returns all states, in the order in which a row can meet them.
func States() []State {
	return []State{Claimed, Confirmed, Sending, HandedOut, Settled, Marked, Verified, Returning, Returned}
}

// moves is the whole of what a ledger may do to a claim. A state is never set, it
// is only moved, by an update that names the state it expects to find.
var moves = map[State][]State{
	Claimed:   {Confirmed, Settled, Returning},          // settled: called unknown, the ledger went back in time
	Confirmed: {Sending, HandedOut, Settled, Returning}, // settled: refused before the final dot
	Sending:   {Settled, Returning},                     // returning: refused through no fault of the row
	HandedOut: {Settled, Returning},                     // returning: the caller gives the row back
	Settled:   {Settled, Marked},                        // settled again: a late or a better answer, before the mark
	Marked:    {Verified, Settled},                      // settled again: a late answer to an unknown
	Verified:  {Claimed, Settled, Verified},             // claimed: the next attempt of a failure; verified: a wish
	Returning: {Returned, Settled},                      // settled: as for claimed
	Returned:  {Claimed},
}

// CanMove reports whether a claim in state from may move to state to.
func CanMove(from, to State) bool {
	return slices.Contains(moves[from], to)
}

// Ended reports whether no run has anything left to do for a claim in state s.
func (s State) Ended() bool { return s == Verified || s == Returned }

// Remedy is what a later run does with the claim of a run that died.
type Remedy string

const (
	GiveBack    Remedy = "give back"    // nothing has left: the sheet gets back what stood there
	CallUnknown Remedy = "call unknown" // it may have left: a person decides
	Mark        Remedy = "mark"         // the outcome is known, only the sheet lags
	Verify      Remedy = "verify"       // the sheet was told; read it back
	Leave       Remedy = "leave"        // ended
)

// AfterCrash is the one rule of recovery.
func AfterCrash(s State) Remedy {
	switch s {
	case Claimed, Confirmed, Returning:
		return GiveBack
	case Sending, HandedOut:
		return CallUnknown
	case Settled:
		return Mark
	case Marked:
		return Verify
	case Verified, Returned:
		return Leave
	}
	return Leave
}
