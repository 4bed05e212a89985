// Package ledger is the book behind claim.Ledger, claim.Runs and claim.Outbox: it
// decides between runs, atomically, and remembers what was sent.
//
// SQLite keeps it in one file, which several processes of one machine may share.
// Every method is one transaction that is on disk when it returns. Its rules are
// those of the ports in package claim; package ledgertest checks them and must
// pass for every ledger.
//
// The file is meant to be read by people too (sqlite3 sheetclaim.db): states are
// words, times are text in UTC. It holds no message bodies and no secrets.
package ledger
