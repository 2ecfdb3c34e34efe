package machine

import (
	"sync"
	"time"
)

// tokenBucket limits the queries per second and allows a burst after idle time.
type tokenBucket struct {
	mu        sync.Mutex
	perSecond float64
	burst     float64
	tokens    float64
	updatedAt time.Time
}

func newTokenBucket(perSecond, burst float64) *tokenBucket {
	return &tokenBucket{perSecond: perSecond, burst: burst, tokens: burst, updatedAt: time.Now()}
}

func (b *tokenBucket) take() bool { return b.takeAbove(0) }

// takeAbove takes a token if at least so many are left afterwards.
func (b *tokenBucket) takeAbove(left float64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.tokens = min(b.burst, b.tokens+now.Sub(b.updatedAt).Seconds()*b.perSecond)
	b.updatedAt = now
	if b.tokens < 1+left {
		return false
	}
	b.tokens--
	return true
}

const (
	// burstSeconds is how many seconds' worth of queries may come at once.
	burstSeconds = 2
	// fairShares is the number of machines that can each use their fair share of the total rate at the same time.
	fairShares = 25
)

// TotalRate limits the queries of all machines together. Half of the burst is kept for machines that use no more than their fair
// share, so that a few busy machines cannot take the lookups of the others.
type TotalRate struct {
	all       *tokenBucket
	perSecond float64
}

// NewTotalRate creates the limit that all machines share.
func NewTotalRate(perSecond float64) *TotalRate {
	return &TotalRate{all: newTokenBucket(perSecond, burstSeconds*perSecond), perSecond: perSecond}
}

// queryRate limits the queries of one machine.
type queryRate struct {
	own   *tokenBucket
	fair  *tokenBucket
	total *TotalRate
}

func (r *TotalRate) forMachine() *queryRate {
	fair := r.perSecond / fairShares
	return &queryRate{
		own:   newTokenBucket(queriesPerSecond, queryBurst),
		fair:  newTokenBucket(fair, max(1, burstSeconds*fair)),
		total: r,
	}
}

// take reports whether the machine may ask now.
func (r *queryRate) take() bool {
	if !r.own.take() {
		return false
	}
	if r.fair.take() {
		return r.total.all.take()
	}
	return r.total.all.takeAbove(r.total.all.burst / 2)
}
