package port

import "time"

// Backoff spaces out tries on a port nobody is connected to: 5 ms at first, up to 20 ms.
type Backoff struct{ next time.Duration }

const (
	firstWait = 5 * time.Millisecond
	lastWait  = 20 * time.Millisecond
)

// Wait sleeps for the next step, or until done is closed.
func (b *Backoff) Wait(done <-chan struct{}) {
	if b.next == 0 {
		b.next = firstWait
	}
	t := time.NewTimer(b.next)
	defer t.Stop()
	select {
	case <-t.C:
	case <-done:
	}
	b.next = min(2*b.next, lastWait)
}

// Reset starts again at the shortest wait.
func (b *Backoff) Reset() { b.next = 0 }
