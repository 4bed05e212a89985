package claim

import (
	"context"
	"time"
)

// AlertKind is what an alert is about; contract of the alert mail and webhook.
type AlertKind string

const (
	AlertOverlap         AlertKind = "overlap"
	AlertDoubt           AlertKind = "doubt"
	AlertUnknown         AlertKind = "unknown"
	AlertGaveUp          AlertKind = "gave_up"
	AlertRejected        AlertKind = "rejected"
	AlertRowFault        AlertKind = "row_fault"
	AlertRunFailed       AlertKind = "run_failed"
	AlertStaleClaim      AlertKind = "stale_claim"
	AlertMarkUnverified  AlertKind = "mark_unverified"
	AlertLedgerDisagrees AlertKind = "ledger_disagrees"
)

// AlertRow names one row in an alert. It holds no address and no message text.
type AlertRow struct {
	Row    int    `json:"row,omitempty"`
	Key    string `json:"key,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Alert tells a person what the method saw, what it did and what to do now. It is
// written in the same transaction as the state it reports, and kept until it has
// been delivered. Alerts of one job, kind and cause are grouped.
type Alert struct {
	Kind  AlertKind  `json:"kind"`
	Job   string     `json:"job"`
	Run   string     `json:"run"`
	Cause string     `json:"cause,omitempty"`
	Rows  []AlertRow `json:"rows"`
	Seen  string     `json:"seen"`
	Done  string     `json:"done"`
	Todo  string     `json:"todo"`
}

// QueuedAlert is an alert that waits for its delivery on some route.
type QueuedAlert struct {
	Alert
	Number int64
	At     time.Time // when it was queued
	Tries  int       // deliveries that failed on this route
}

// Delivery is how an alert fares on one route.
type Delivery struct {
	Route   string
	At      time.Time // when it went out; zero: not yet
	Tries   int       // that failed
	Problem string    // of the last of them
	Next    time.Time // the next try; zero: now
}

// KeptAlert is an alert as it is remembered, delivered or not.
type KeptAlert struct {
	QueuedAlert
	Deliveries []Delivery // one for each route; none when there was no route
}

// Outbox keeps alerts until they have been delivered on every route ("email",
// "webhook").
type Outbox interface {
	// Queued answers what is still to be delivered on a route and whose next try has
	// come, oldest first. What somebody has reserved comes when that ends.
	Queued(ctx context.Context, route string, now time.Time) ([]QueuedAlert, error)
	// LastDelivered answers when an alert of this job, kind and cause last went out on a
	// route; zero if never.
	LastDelivered(ctx context.Context, route, job string, kind AlertKind, cause string) (time.Time, error)
	// Reserve gives these alerts to one deliverer for a time, by the ledger's own clock:
	// all of them, or false when one has been delivered or is another's. by names the
	// reservation.
	Reserve(ctx context.Context, route string, numbers []int64, by string, d time.Duration) (bool, error)
	// Delivered writes down that these went out on a route.
	Delivered(ctx context.Context, route string, numbers []int64, now time.Time) error
	// Undelivered writes down a failed delivery and when to try again, and ends its
	// reservation. It changes nothing of what another has reserved since.
	Undelivered(ctx context.Context, route string, numbers []int64, by, why string, next time.Time) error
}
