package terminal

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"mayfly/agent/internal/frame"
)

const (
	frameBytes  = 0
	frameResize = 1
	frameExit   = 3
)

// view streams the terminal to the host until the shell exits, the host disconnects or another viewer replaces it. A terminal that is
// not persistent is then hung up, because no viewer can reconnect to it.
func (t *Terminal) view(w http.ResponseWriter, r *http.Request, persistent bool) {
	v := t.addViewer()
	defer t.removeViewer(v)
	if !persistent {
		defer t.hangUp()
	}
	ctx := r.Context()
	defer context.AfterFunc(ctx, t.wake)()
	flush := http.NewResponseController(w).Flush
	w.Header().Set("content-type", "application/octet-stream")
	w.WriteHeader(http.StatusOK)
	flush()
	go t.readInput(v, r.Body)

	buf := make([]byte, 32<<10)
	for {
		n, code, open := t.next(ctx, v, buf)
		switch {
		case !open:
			return
		case n > 0:
			if frame.Write(w, frameBytes, buf[:n]) != nil || flush() != nil {
				return
			}
		default:
			frame.WriteJSON(w, frameExit, map[string]int{"exit_code": code})
			return
		}
	}
}

// readInput reads the frames of the host. The end of the body hangs up the terminal; a broken connection does not.
func (t *Terminal) readInput(v *viewer, body io.Reader) {
	frames := frame.NewReader(body)
	for {
		kind, payload, err := frames.Next()
		if err != nil {
			if err == io.EOF && t.isViewer(v) {
				t.hangUp()
			}
			return
		}
		switch kind {
		case frameBytes:
			if _, err := t.master.Write(payload); err != nil {
				return
			}
		case frameResize:
			var s size
			if json.Unmarshal(payload, &s) == nil {
				t.resize(s)
			}
		}
	}
}

// next copies output that v has not received into p. If n is 0, the shell has exited with code. If open is false, v must end.
func (t *Terminal) next(ctx context.Context, v *viewer, p []byte) (n, code int, open bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		if t.viewer == v {
			v.at = max(v.at, t.from)
			if n = copy(p, t.recent[v.at-t.from:]); n > 0 {
				v.at += int64(n)
				t.changed.Broadcast()
				return n, 0, true
			}
		}
		switch {
		case t.code != nil:
			return 0, *t.code, true
		case ctx.Err() != nil || t.viewer != v && t.viewer != nil:
			return 0, 0, false
		}
		t.changed.Wait()
	}
}

func (t *Terminal) addViewer() *viewer {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.viewer = &viewer{at: t.from}
	t.changed.Broadcast()
	return t.viewer
}

func (t *Terminal) removeViewer(v *viewer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.viewer == v {
		t.viewer = nil
	}
	t.changed.Broadcast()
}

func (t *Terminal) isViewer(v *viewer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.viewer == v
}

func (t *Terminal) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed.Broadcast()
}
