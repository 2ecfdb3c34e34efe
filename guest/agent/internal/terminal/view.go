package terminal

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"mayfly/agent/internal/frame"
)

const (
	frameBytes    = 0
	frameSize     = 1
	framePosition = 2
	frameExit     = 3
)

// view streams the terminal to the host, from a position on, until the shell exits, the host disconnects or another viewer replaces it.
// The terminal goes on without a viewer.
func (t *Terminal) view(w http.ResponseWriter, r *http.Request, after int64) {
	v, end := t.addViewer(after)
	defer t.removeViewer(v)
	ctx := r.Context()
	defer context.AfterFunc(ctx, t.wake)()
	flush := http.NewResponseController(w).Flush
	w.Header().Set("content-type", "application/octet-stream")
	if frame.WriteJSON(w, framePosition, map[string]int64{"position": v.at, "end": end}) != nil || flush() != nil {
		return
	}
	go t.readInput(r.Body)

	buf := make([]byte, 32<<10)
	for {
		n, resized, code, open := t.next(ctx, v, buf)
		var err error
		switch {
		case !open:
			return
		case resized != nil:
			err = frame.WriteJSON(w, frameSize, resized)
		case n > 0:
			err = frame.Write(w, frameBytes, buf[:n])
		default:
			frame.WriteJSON(w, frameExit, map[string]int{"exit_code": code})
			return
		}
		if err != nil || flush() != nil {
			return
		}
	}
}

// readInput reads the frames of the host.
func (t *Terminal) readInput(body io.Reader) {
	frames := frame.NewReader(body)
	for {
		kind, payload, err := frames.Next()
		if err != nil {
			return
		}
		switch kind {
		case frameBytes:
			if _, err := t.master.Write(payload); err != nil {
				return
			}
		case frameSize:
			var s size
			if json.Unmarshal(payload, &s) == nil {
				t.resize(s)
			}
		}
	}
}

// next returns what v gets next: a size, or output that is copied into p. If there is neither, the shell has exited with code. If open is
// false, v must end.
func (t *Terminal) next(ctx context.Context, v *viewer, p []byte) (n int, resized *size, code int, open bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		if t.viewer == v {
			if n, resized = t.history.read(v, p); n > 0 || resized != nil {
				t.changed.Broadcast()
				return n, resized, 0, true
			}
		}
		switch {
		case t.code != nil:
			return 0, nil, *t.code, true
		case ctx.Err() != nil || t.viewer != v && t.viewer != nil:
			return 0, nil, 0, false
		}
		t.changed.Wait()
	}
}

// addViewer makes the caller the viewer, and returns the position up to which there is output by now.
func (t *Terminal) addViewer(after int64) (v *viewer, end int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.viewer = t.history.from(after)
	t.changed.Broadcast()
	return t.viewer, t.history.end()
}

func (t *Terminal) removeViewer(v *viewer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.viewer == v {
		t.viewer = nil
		t.left = time.Now()
	}
	t.changed.Broadcast()
}

func (t *Terminal) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed.Broadcast()
}
