// Package mailer turns drafts into letters and hands them to a mail server: the
// claim.Mailer of production.
//
// go-mail builds the message and speaks the protocol on its smtp.Client. The order
// of things is kept here, since the answer that matters is not "error or not" but
// one of four verdicts, and the two ways to be wrong are to send twice and to say
// that something was sent which was not:
//
//   - A message is rendered to bytes before anything is dialled. A template or a
//     part that failed within DATA would leave DATA open, and the next command on
//     that connection would end it: a truncated message, accepted.
//   - MAIL, RCPT, DATA, content and the final dot are single steps, each with a
//     deadline of its own (RFC 5321 section 4.5.3.2 asks for ten minutes for the dot:
//     a shorter wait makes doubts of slow successes).
//   - After the content and before the final dot the caller makes its intent
//     durable. Until then the server has nothing; from then on a lost reply is
//     Doubtful, whatever caused it. RFC 5321 section 3.8 tells relays to treat a lost
//     connection as a 451 and to send again; a sender that promises at most once
//     departs from it on purpose.
//   - After any surprise a connection is cut below TLS and go-mail. It never gets a
//     QUIT, which would first end an open DATA.
//   - What is the account's fault and not the row's is one table, in policy.go.
//
// The files, in reading order: send.go, transaction.go, reply.go, policy.go,
// compose.go, address.go, pool.go, dial.go, explain.go, oauth.go.
package mailer
