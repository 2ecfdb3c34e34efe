// Package expiry powers off a machine that has expired while no host is connected.
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

// Watch holds the expiry of the machine.
type Watch struct{ atMs atomic.Int64 }

// Set sets the expiry in unix milliseconds; 0 means none.
func (w *Watch) Set(unixMs int64) { w.atMs.Store(unixMs) }

// Due reports whether the machine must end: it expired longer than the grace period ago and no host is connected.
func (w *Watch) Due(now time.Time, connected bool) bool {
	at := w.atMs.Load()
	return at > 0 && !connected && now.Sub(time.UnixMilli(at)) > grace
}

// Run calls end when the expiry is due by the wall clock.
func (w *Watch) Run(ctx context.Context, connected func() bool, end func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// Round drops the monotonic reading, which does not advance while the machine is paused.
			if w.Due(time.Now().Round(0), connected()) {
				end()
				return
			}
		}
	}
}
