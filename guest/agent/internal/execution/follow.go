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
	frameGap     = 4
)

// frames pools buffers for a frame with its header.
var frames = sync.Pool{New: func() any { return new([frame.HeaderLen + 32<<10]byte) }}

// part is what a response sends next: bytes of a stream, the number of bytes that were lost, or the result.
type part struct {
	kind   byte
	n      int // bytes that were copied to the buffer
	lost   int64
	result *Result
}

// source copies the next bytes for a response into p. It is called with the execution's lock, and returns no bytes if there are none yet.
type source func(p []byte) part

// captured reads the captured output, one stream as far as the other. If late is set, it waits for the end of the command first.
func (e *Execution) captured(late bool) source {
	var at [2]int64
	turn := 0
	return func(p []byte) (next part) {
		if late && e.result == nil {
			return next
		}
		for range e.outputs {
			i := turn
			turn = 1 - turn
			if next.n, at[i] = e.outputs[i].read(at[i], p); next.n > 0 {
				next.kind = byte(frameStdout + i)
				return next
			}
		}
		return next
	}
}

// live reads the spool from a position on.
func (e *Execution) live(position int64) source {
	var r *reader
	return func(p []byte) (next part) {
		if r == nil {
			r = e.spool.seek(position)
		}
		stream, n, lost := e.spool.read(r, p)
		return part{kind: byte(frameStdout + stream), n: n, lost: lost}
	}
}

// stream sends an execution to w: its start, what the source has, and its result. It ends early if the host disconnects, which does not
// affect the command.
func (e *Execution) stream(ctx context.Context, w http.ResponseWriter, from source) {
	defer context.AfterFunc(ctx, e.wake)()
	w.Header().Set("content-type", "application/octet-stream")
	if frame.WriteJSON(w, frameStarted, map[string]int64{"started_at_ms": e.StartedAt.UnixMilli()}) != nil {
		return
	}
	flush := http.NewResponseController(w).Flush
	buf := frames.Get().(*[frame.HeaderLen + 32<<10]byte)
	defer frames.Put(buf)
	for flushed := false; ; {
		next, over := e.next(ctx, from, buf[frame.HeaderLen:], flushed)
		var err error
		switch {
		case over:
			return
		case next.n > 0:
			frame.PutHeader(buf[:], next.kind, next.n)
			_, err = w.Write(buf[:frame.HeaderLen+next.n])
			flushed = false
		case next.lost > 0:
			err = frame.WriteJSON(w, frameGap, map[string]int64{"bytes": next.lost})
			flushed = false
		case next.result != nil:
			frame.WriteJSON(w, frameResult, next.result)
			return
		default:
			err = flush()
			flushed = true
		}
		if err != nil {
			return
		}
	}
}

// next returns what to send next: the result once the source has no more bytes, and nothing if there is nothing to send and wait is false.
// The stream is over if the host has disconnected or the execution belongs to another machine.
func (e *Execution) next(ctx context.Context, from source, p []byte, wait bool) (next part, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		if e.abandoned {
			return part{}, true
		}
		if next = from(p); next.n > 0 || next.lost > 0 {
			return next, false
		}
		if ctx.Err() != nil {
			return part{}, true
		}
		if e.result != nil || !wait {
			return part{result: e.result}, false
		}
		e.changed.Wait()
	}
}
