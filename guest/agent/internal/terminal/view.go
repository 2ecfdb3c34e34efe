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

// view shows the terminal to a host until the shell exits, the host goes, or another host takes its place. A terminal that
// does not stay is hung up then, because nobody can come back to it.
func (t *Terminal) view(w http.ResponseWriter, r *http.Request, stays bool) {
	v := t.enter()
	defer t.leave(v)
	if !stays {
		defer t.hangUp()
	}
	ctx := r.Context()
	defer context.AfterFunc(ctx, t.wake)()
	flush := http.NewResponseController(w).Flush
	w.Header().Set("content-type", "application/octet-stream")
	w.WriteHeader(http.StatusOK)
	flush()
	go t.typed(v, r.Body)

	buf := make([]byte, 32<<10)
	for {
		n, code, there := t.more(ctx, v, buf)
		switch {
		case !there:
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

// typed takes the host's frames. The end of the body hangs up; a host that merely vanishes does not.
func (t *Terminal) typed(v *viewer, body io.Reader) {
	frames := frame.NewReader(body)
	for {
		kind, payload, err := frames.Next()
		if err != nil {
			if err == io.EOF && t.shows(v) {
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

// more copies what v has not seen into p; nothing copied means that the shell has exited, !there that v is to go.
func (t *Terminal) more(ctx context.Context, v *viewer, p []byte) (n, code int, there bool) {
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

func (t *Terminal) enter() *viewer {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.viewer = &viewer{at: t.from}
	t.changed.Broadcast()
	return t.viewer
}

func (t *Terminal) leave(v *viewer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.viewer == v {
		t.viewer = nil
	}
	t.changed.Broadcast()
}

func (t *Terminal) shows(v *viewer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.viewer == v
}

func (t *Terminal) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed.Broadcast()
}
