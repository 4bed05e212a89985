// Package key is the ledger of keys for any action that must happen at most once: an
// invoice, a booking, a webhook. Claim a key before you act, and say how it ended.
//
// A claim that is won comes with a token, which alone can end or renew it. A claim
// that its owner never ended is free for the next when its lease is over
// (TakeExpired), or nobody may have it until a person has looked (TakeNever): then it
// is unknown. At most once therefore needs TakeNever; with TakeExpired the work of an
// owner that is merely slow can be begun again.
package key
