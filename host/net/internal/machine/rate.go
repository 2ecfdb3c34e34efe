package machine

import (
	"sync"
	"time"
)

// bucket lets a number of queries through per second, and a burst after a rest.
type bucket struct {
	mu        sync.Mutex
	perSecond float64
	burst     float64
	level     float64
	at        time.Time
}

func newBucket(perSecond, burst float64) *bucket {
	return &bucket{perSecond: perSecond, burst: burst, level: burst, at: time.Now()}
}

func (b *bucket) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.level = min(b.burst, b.level+now.Sub(b.at).Seconds()*b.perSecond)
	b.at = now
	if b.level < 1 {
		return false
	}
	b.level--
	return true
}
