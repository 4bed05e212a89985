// Package sheets is Google Sheets behind [claim.Sheet].
//
// read.go asks for a grid, ask.go names its ranges, grid.go puts the answer
// together and cell.go says what one cell is. claim.go builds the fenced batch,
// fence.go its entries, and replace.go the conditional changes after it. call.go
// carries one request to Google and back: reads are tried again there, writes
// never. failure.go tells apart what came back (refused, throttled, not sent,
// unclear), problem.go and login_problem.go put it into words for the person who
// set the job up, and quota.go keeps the account under its calls per minute.
// transport.go and credentials.go make sure that what this package sends once is
// sent once, and as whom.
//
// Where a rule comes from outside, the comment says how well it is known:
// documented (the API's reference), probed or observed (seen in somebody's
// written-up test or recorded traffic), or unknown. No safety rests on the last.
package sheets
