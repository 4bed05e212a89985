package smtpsink

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// Phase is a moment in a session at which a fault can be put.
type Phase string

const (
	Connect   Phase = "connect"  // before the greeting
	EHLO      Phase = "ehlo"     // EHLO or HELO
	StartTLS  Phase = "starttls" // the STARTTLS command
	Auth      Phase = "auth"     // the AUTH command
	Mail      Phase = "mail"     // MAIL
	Rcpt      Phase = "rcpt"     // each RCPT
	Data      Phase = "data"     // the DATA command
	MidData   Phase = "middata"  // once Rule.MidBytes of content were read
	Dot       Phase = "dot"      // after the final dot
	AfterOK   Phase = "afterok"  // the first command after an accepted message, save QUIT
	Noop      Phase = "noop"
	ResetVerb Phase = "rset"
)

// Action is what the sink does instead of its duty.
type Action string

const (
	Drop      Action = "drop"      // close without a reply
	Reset     Action = "reset"     // cut the connection with a RST
	Reply     Action = "reply"     // answer Rule.Text and go on
	ReplyDrop Action = "replydrop" // answer Rule.Text and close
	Slow      Action = "slow"      // wait Rule.Delay, then do as usual
	Hang      Action = "hang"      // never answer; at MidData: never read on
)

// Rule is one scripted fault. The first rule that fits a moment is used up for it.
type Rule struct {
	Phase  Phase
	Action Action
	// Text is the reply, one or several lines divided by \n. With Cut the end of the
	// last line is left off.
	Text  string
	Cut   bool
	Delay time.Duration
	// MidBytes of content are read before a fault at MidData.
	MidBytes int
	// Accept is for faults at Dot: the message is queued before the sink misbehaves. A
	// slow reply to the dot always means a queued message.
	Accept bool
	// Conn, Recipient and Match narrow the rule: to one connection (they count from
	// 1), to one address (at Rcpt the one being named, later any), or by the envelope
	// so far.
	Conn      int
	Recipient string
	Match     func(Envelope) bool
	// Nth is the first of the fitting moments, over all connections, at which the rule
	// acts (0 and 1: the first); Times is at how many it acts (0: at all).
	Nth, Times int
}

// fits reports whether the rule applies to this moment, its counts aside.
func (r *Rule) fits(p Phase, env Envelope) bool {
	switch {
	case r.Phase != p,
		r.Conn != 0 && r.Conn != env.Conn,
		r.Match != nil && !r.Match(env):
		return false
	case r.Recipient == "":
		return true
	case p == Rcpt:
		return len(env.To) > 0 && strings.EqualFold(env.To[len(env.To)-1], r.Recipient)
	}
	return slices.ContainsFunc(env.To, func(to string) bool { return strings.EqualFold(to, r.Recipient) })
}

// acts reports whether the rule acts at its n-th fitting moment.
func (r *Rule) acts(n int) bool {
	first := max(r.Nth, 1)
	return n >= first && (r.Times == 0 || n < first+r.Times)
}

// Chance draws faults by luck. The luck is a hash of the seed, the connection and
// the number of the moment in it, not a draw from a shared stream: another
// interleaving of connections does not reshuffle every later fault.
type Chance struct {
	Seed    uint64
	PerMill int    // of a thousand moments, this many have a fault, if one fits
	Faults  []Rule // the faults to draw from; their Nth and Times do not count
}

// draw answers the fault of one moment, or nil.
func (c *Chance) draw(p Phase, env Envelope, moment int) *Rule {
	if c == nil || len(c.Faults) == 0 {
		return nil
	}
	h := fnv.New64a()
	for _, v := range []uint64{c.Seed, uint64(env.Conn), uint64(moment)} {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, v))
	}
	luck := mix(h.Sum64())
	if int(luck%1000) >= c.PerMill {
		return nil
	}
	var fitting []*Rule
	for i := range c.Faults {
		if c.Faults[i].fits(p, env) {
			fitting = append(fitting, &c.Faults[i])
		}
	}
	if len(fitting) == 0 {
		return nil
	}
	return fitting[luck/1000%uint64(len(fitting))]
}

// mix spreads the low bits of an FNV sum, which are weak for short inputs (the
// finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// Mean answers the faults that mail servers are known for, for [Chance].
func Mean() []Rule {
	return []Rule{
		{Phase: Connect, Action: Drop},
		{Phase: Connect, Action: ReplyDrop, Text: "421 4.3.2 try again later"},
		{Phase: EHLO, Action: ReplyDrop, Text: "421 4.7.0 try again later"},
		{Phase: Auth, Action: Reply, Text: "454 4.7.0 temporary authentication failure"},
		{Phase: Mail, Action: ReplyDrop, Text: "421 4.7.0 too many messages in this connection"},
		{Phase: Mail, Action: Reply, Text: "451 4.3.0 temporary failure"},
		{Phase: Rcpt, Action: Reply, Text: "450 4.7.1 greylisted"},
		{Phase: Rcpt, Action: Reply, Text: "550 5.1.1 user unknown"},
		{Phase: Rcpt, Action: Drop},
		{Phase: Data, Action: Reply, Text: "451 4.3.0 temporary failure"},
		{Phase: MidData, Action: Drop, MidBytes: 100},
		{Phase: MidData, Action: Reset, MidBytes: 100},
		{Phase: Dot, Action: Drop},
		{Phase: Dot, Action: Drop, Accept: true},
		{Phase: Dot, Action: Reset, Accept: true},
		{Phase: Dot, Action: Reply, Text: "451 4.3.0 temporary failure"},
		{Phase: Dot, Action: Reply, Text: "550 5.7.1 content refused"},
		{Phase: Dot, Action: Slow, Delay: 5 * time.Second},
		{Phase: AfterOK, Action: ReplyDrop, Text: "421 4.4.2 closing"},
		{Phase: Noop, Action: Drop},
		{Phase: ResetVerb, Action: Drop},
	}
}
