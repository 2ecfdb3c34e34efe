package execution

import (
	"context"
	"net/http"
	"sync"

	"mayfly/agent/internal/frame"
)

const (
	frameStarted = 0
	frameStdout  = 1 // stderr is frameStdout + 1
	frameResult  = 3
)

// follower is a response that streams an execution to the host.
type follower struct {
	at   [2]int64 // offset in each stream
	next int      // the stream to read from next
}

// frames pools buffers for a frame with its header.
var frames = sync.Pool{New: func() any { return new([frame.HeaderLen + 32<<10]byte) }}

// stream sends the execution to w, from its start to its result. It ends early if the host disconnects, which does not affect the command.
func (e *Execution) stream(ctx context.Context, w http.ResponseWriter) {
	f := &follower{}
	e.mu.Lock()
	e.followers[f] = struct{}{}
	e.mu.Unlock()
	defer e.unfollow(f)
	defer context.AfterFunc(ctx, e.wake)()

	if frame.WriteJSON(w, frameStarted, map[string]int64{"started_at_ms": e.StartedAt.UnixMilli()}) != nil {
		return
	}
	flush := http.NewResponseController(w).Flush
	buf := frames.Get().(*[frame.HeaderLen + 32<<10]byte)
	defer frames.Put(buf)
	for flushed := false; ; {
		kind, n, result, over := e.next(ctx, f, buf[frame.HeaderLen:], flushed)
		switch {
		case n > 0:
			frame.PutHeader(buf[:], kind, n)
			if _, err := w.Write(buf[:frame.HeaderLen+n]); err != nil {
				return
			}
			flushed = false
		case result != nil:
			frame.WriteJSON(w, frameResult, result)
			return
		case over:
			return
		default:
			if flush() != nil {
				return
			}
			flushed = true
		}
	}
}

// next copies the next bytes for f into p. It returns the result once there are no more bytes, and neither if there is nothing to send and
// wait is false. The stream is over if the host has disconnected or the execution belongs to another machine.
func (e *Execution) next(ctx context.Context, f *follower, p []byte, wait bool) (kind byte, n int, result *Result, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		if e.abandoned {
			return 0, 0, nil, true
		}
		for range e.outputs {
			i := f.next
			f.next = 1 - f.next
			if n, f.at[i] = e.outputs[i].read(f.at[i], p); n > 0 {
				e.trim(i)
				return byte(frameStdout + i), n, nil, false
			}
		}
		if e.result != nil || ctx.Err() != nil || !wait {
			return 0, 0, e.result, ctx.Err() != nil
		}
		e.changed.Wait()
	}
}

// trim drops the bytes of a stream that every follower has read, and wakes a command that is blocked on them.
func (e *Execution) trim(stream int) {
	o := &e.outputs[stream]
	if len(o.window) == 0 {
		return
	}
	slowest := o.total
	for f := range e.followers {
		slowest = min(slowest, f.at[stream])
	}
	o.trim(slowest)
	e.changed.Broadcast()
}

func (e *Execution) unfollow(f *follower) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.followers, f)
	for i := range e.outputs {
		e.trim(i)
	}
	e.changed.Broadcast()
}

func (e *Execution) wake() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changed.Broadcast()
}
