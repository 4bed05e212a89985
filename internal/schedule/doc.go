// Package schedule says when runs start.
//
// A tick is a moment at which a job's schedule asks for a run. The run is named
// after the tick (see RunID), so that all instances of the program ask for the
// same run and the ledger makes it once. Ticks that fall into a run that still
// goes on are no concern of this package: the method sees to that.
//
// # Schedules
//
// The notation is that of github.com/robfig/cron/v3: five fields (minute, hour,
// day of month, month, weekday), @hourly, @daily, @weekly, @monthly, @yearly, and
// @every with a Go duration of at least a minute. When day of month and weekday
// are both restricted, either is enough, as in other crons. "@every 90m" counts
// from a fixed moment and not from the start of the process, so that all
// instances agree: "@every 24h" is midnight UTC.
//
// # Missed ticks
//
// A tick is missed when no run could be started within ten minutes of it. Of the
// ticks that a process finds missed, the latest is started, unless the job makes up
// for none. Which rows such a run takes is for the method to say (catch_up).
//
// # Summer time
//
// The library leaves out a time that the clock skips and runs one that exists
// twice twice. Neither is wanted of a daily job, so the change is handled here, by
// the rule of Vixie's cron:
//
//   - A schedule that names hours ("30 2 * * *", "0 8-18 * * *") runs once for each
//     time on the clock. Of a time that exists twice the first counts. Times that
//     the clock skips become one run, at the first moment after the gap.
//   - A schedule for every hour ("*/5 * * * *", "@hourly") follows real time: it
//     runs through the repeated hour and makes nothing up for the skipped one.
package schedule
