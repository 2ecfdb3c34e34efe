// Package rate limits how often something may happen.
package rate

import (
	"sync"
	"time"
)

// Bucket limits the events per second and allows a burst after idle time.
type Bucket struct {
	// PerSecond is how many events the bucket gains per second, up to Burst.
	PerSecond float64
	Burst     float64

	mu        sync.Mutex
	tokens    float64
	updatedAt time.Time
}

// NewBucket creates a full bucket.
func NewBucket(perSecond, burst float64) *Bucket {
	return &Bucket{PerSecond: perSecond, Burst: burst, tokens: burst, updatedAt: time.Now()}
}

// Take reports whether an event may happen now, and counts it.
func (b *Bucket) Take() bool { return b.TakeAbove(0) }

// TakeAbove counts an event if at least so many are left afterwards.
func (b *Bucket) TakeAbove(left float64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.tokens = min(b.Burst, b.tokens+now.Sub(b.updatedAt).Seconds()*b.PerSecond)
	b.updatedAt = now
	if b.tokens < 1+left {
		return false
	}
	b.tokens--
	return true
}
