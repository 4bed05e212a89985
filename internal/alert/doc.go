// Package alert carries alerts to people: by mail and by webhook, kept until they
// have been delivered.
//
// Alerts are put into the outbox by the ledger, in the transaction of what they
// report (claim.Outbox). A Deliverer takes them from there, for each route by
// itself: a mail server that is down holds up no webhook.
//
//   - Pending alerts of one job, kind and cause are one Message, with a count.
//   - A group of which something was delivered on a route less than RepeatAfter ago
//     is held back there, never dropped: when the time is up, one message names all
//     its rows. The kind "unknown" is never held back.
//   - A delivery that failed is tried again after 30 seconds, then after twice as
//     long each time up to an hour, for ever. New alerts of that group, "unknown"
//     aside, join the next try.
//   - Whatever happens here changes nothing about a row.
//
// A message names rows by number and key. Addresses in what the method or a mail
// server said are made unreadable (see Conceal), except in Message-IDs, which look
// like addresses and are needed to find a message. Keys are given as they are,
// since the answer to an alert needs them, also where a job uses an address as one.
//
// A Caller does the same for callbacks, which callers of the API ask for: the document
// of a run that ended, with the signature of a webhook.
//
// # Several processes
//
// Processes that share a ledger reserve an alert in it before they deliver it, for
// three minutes, and give up a delivery after two. What remains is a process that dies
// or stands still between a delivery and its record, and a mail server that answers
// later than that: the alert then goes out again, with the same id if nothing has
// joined it meanwhile. An alert twice is better than none.
package alert
