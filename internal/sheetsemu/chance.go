package sheetsemu

import (
	"hash/fnv"
	"time"
)

// Faults are the rates of what goes wrong by chance, each a probability per
// call. Rates of applied and unapplied writes stand apart.
type Faults struct {
	Latency time.Duration // of every call, half of it before the application
	Jitter  time.Duration // added to the latency, evenly distributed up to this

	LostApplied    float64 // the write is applied, the connection drops
	LostUnapplied  float64 // the connection drops before
	ErrorApplied   float64 // 503, although the write was applied
	ErrorUnapplied float64 // 503 or 500, nothing applied
	LateLost       float64 // no answer, and the write is applied some time later
	SilentApplied  float64 // the write is applied, no answer ever comes
	Garbled        float64 // applied; the body is cut or a page of HTML
	LostRead       float64 // the connection of a read drops
	ErrorRead      float64 // 503 for a read
	StaleRead      float64 // a read shows the state of up to StaleBy ago

	LateBy  time.Duration // longest delay of a late application
	StaleBy time.Duration // greatest age of a stale read
}

// Calm has nothing go wrong and answers at once. Realistic has what users
// report: latency, the odd lost answer, 503 with and without effect, and reads
// that are up to five seconds old. The quota counts in both.
var (
	Calm      = Faults{}
	Realistic = Faults{
		Latency: 300 * time.Millisecond, Jitter: 700 * time.Millisecond,
		LostApplied: 0.01, LostUnapplied: 0.005,
		ErrorApplied: 0.005, ErrorUnapplied: 0.01,
		LateLost: 0.003, SilentApplied: 0.002, Garbled: 0.003,
		LostRead: 0.005, ErrorRead: 0.01, StaleRead: 0.02,
		LateBy: 20 * time.Second, StaleBy: 5 * time.Second,
	}
)

// draw decides by a hash of the seed, the caller, the kind and that caller's
// n-th call of it, and of nothing else: another interleaving of the callers
// changes no draw.
func (f Faults) draw(seed uint64, c *Call) Fault {
	if f == Calm {
		return Fault{}
	}
	d := dice{state: mix(seed ^ hashText(c.Caller+"\x00"+c.Kind) ^ uint64(c.Nth)*0x9E3779B97F4A7C15)}
	latency := f.Latency + d.upTo(f.Jitter)
	out := Fault{Delay: latency / 2, Answer: OK.After(latency / 2)}
	pick := d.chance()
	hit := func(rate float64) bool {
		was := pick
		pick -= rate
		return was >= 0 && was < rate
	}
	if !c.Write {
		switch {
		case hit(f.LostRead):
			out.Answer = Lost.After(latency / 2)
		case hit(f.ErrorRead):
			out.Answer = Status(503, "").After(latency / 2)
		case hit(f.StaleRead):
			out.Stale = d.upTo(f.StaleBy)
		}
		return out
	}
	switch {
	case hit(f.LostApplied):
		out.Answer = Lost.After(latency / 2)
	case hit(f.LostUnapplied):
		out.Apply, out.Answer = Never, Lost.After(latency/2)
	case hit(f.ErrorApplied):
		out.Answer = Status(503, "").After(latency / 2)
	case hit(f.ErrorUnapplied):
		out.Apply, out.Answer = Never, d.either(Status(503, ""), Status(500, "")).After(latency/2)
	case hit(f.LateLost):
		out.Apply, out.Answer = Late(d.upTo(f.LateBy)), d.either(Lost, Status(503, "")).After(latency/2)
	case hit(f.SilentApplied):
		out.Answer = Silent
	case hit(f.Garbled):
		out.Answer = d.either(Cut, HTML).After(latency / 2)
	}
	return out
}

// dice is a short stream of numbers for one call.
type dice struct{ state uint64 }

func (d *dice) next() uint64 {
	d.state += 0x9E3779B97F4A7C15
	return mix(d.state)
}

func (d *dice) chance() float64 { return float64(d.next()>>11) / (1 << 53) }

func (d *dice) upTo(limit time.Duration) time.Duration {
	return time.Duration(d.chance() * float64(limit))
}

func (d *dice) either(a, b Answer) Answer {
	if d.next()&1 == 0 {
		return a
	}
	return b
}

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xBF58476D1CE4E5B9
	x ^= x >> 27
	x *= 0x94D049BB133111EB
	return x ^ x>>31
}

func hashText(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // never fails
	return h.Sum64()
}
