// Package expiry ends a machine that has outlived its time while no host looks after it.
package expiry

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	grace    = 5 * time.Minute
	interval = 10 * time.Second
)

// Watch knows when the machine is to end.
type Watch struct{ atMs atomic.Int64 }

// Set tells the expiry in unix milliseconds; 0 means none.
func (w *Watch) Set(unixMs int64) { w.atMs.Store(unixMs) }

// Due tells whether the machine has no right to run any more.
func (w *Watch) Due(now time.Time, connected bool) bool {
	at := w.atMs.Load()
	return at > 0 && !connected && now.Sub(time.UnixMilli(at)) > grace
}

// Run calls end once it is due, by the wall clock.
func (w *Watch) Run(ctx context.Context, connected func() bool, end func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// Round drops the monotonic reading: only the wall clock knows about a machine that was asleep.
			if w.Due(time.Now().Round(0), connected()) {
				end()
				return
			}
		}
	}
}
