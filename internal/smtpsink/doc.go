// Package smtpsink is an SMTP server that takes mail, keeps it, delivers none of
// it, and misbehaves on request.
//
// It records the truth: which messages it accepted, whatever it told the client.
// A sender under test is judged by that, not by what it reports:
//
//	sink, err := smtpsink.New(smtpsink.Options{
//		TLS:   smtpsink.STARTTLS,
//		Users: map[string]string{"alice": "secret"},
//		Rules: []smtpsink.Rule{{Phase: smtpsink.Dot, Action: smtpsink.Drop, Accept: true}},
//	})
//	addr, err := sink.Listen("127.0.0.1:0") // or, without a socket: sink.Dial(ctx)
//	…
//	for _, m := range sink.Messages() { … }
//
// It is strict. Commands out of order (503), bare line feeds, lines over 998
// octets, commands sent before the last reply and addresses that need SMTPUTF8
// without saying so are answered as a strict server would and kept as
// violations: a test of a sender should end with [Sink.Violations] empty.
//
// Faults are scripted ([Rule]) at any phase of a session, or drawn by chance from
// one seed ([Chance]). At the final dot two things are independent, as they are
// in life: whether the message was queued and whether the client was told.
//
// [Sink.Dial] connects through two buffers in memory which behave as those of a
// kernel do: what was written is gone from the writer's hands although nobody has
// read it. Such connections work inside testing/synctest bubbles.
//
// The package imports the standard library only and nothing of ours: a sink that
// shared code with the client would share its mistakes.
package smtpsink
