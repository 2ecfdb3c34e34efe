package execution

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"syscall"

	"mayfly/agent/internal/fault"
)

// Register adds the execution requests to mux.
func (t *Table) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /executions", t.post)
	mux.HandleFunc("POST /live", t.postLive)
	mux.HandleFunc("GET /executions/{id}", t.withExecution(func(e *Execution, w http.ResponseWriter, r *http.Request) error {
		e.stream(r.Context(), w, e.captured(r.URL.Query().Get("late") == "1"))
		return nil
	}))
	mux.HandleFunc("GET /live/{id}", t.withExecution(continueLive))
	mux.HandleFunc("POST /executions/{id}/stdin", t.withExecution(writeInput))
	mux.HandleFunc("POST /executions/{id}/kill", t.withExecution(kill))
	mux.HandleFunc("DELETE /executions/{id}", func(w http.ResponseWriter, r *http.Request) {
		if err := noContent(w, t.Acknowledge(r.PathValue("id"))); err != nil {
			fault.Send(w, err)
		}
	})
}

func (t *Table) post(w http.ResponseWriter, r *http.Request) {
	request, err := decode(r.Body)
	if err == nil {
		request.SpoolBytes = 0
		var e *Execution
		if e, err = t.Start(request); err == nil {
			e.stream(r.Context(), w, e.captured(false))
			return
		}
	}
	fault.Send(w, err)
}

func (t *Table) postLive(w http.ResponseWriter, r *http.Request) {
	request, err := decode(r.Body)
	if err == nil && request.SpoolBytes == 0 {
		err = fault.New("bad_request", "a live command needs spool_bytes")
	}
	if err == nil {
		var e *Execution
		if e, err = t.Start(request); err == nil {
			e.stream(r.Context(), w, e.live(0))
			return
		}
	}
	fault.Send(w, err)
}

// continueLive streams a live command from a position on.
func continueLive(e *Execution, w http.ResponseWriter, r *http.Request) error {
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if err != nil || after < 0 {
		return fault.New("bad_request", "after must be a number of bytes")
	}
	if e.spool == nil {
		return fault.New("bad_request", "execution %s is not live", e.ID)
	}
	if written := e.written(); after > written {
		return fault.New("bad_request", "execution %s has written only %d bytes", e.ID, written)
	}
	e.stream(r.Context(), w, e.live(after))
	return nil
}

func writeInput(e *Execution, w http.ResponseWriter, r *http.Request) error {
	if e.stdin == nil {
		return fault.New("bad_request", "execution %s was started without stdin", e.ID)
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, maxInput+1))
	if err != nil {
		return err
	}
	if len(b) > maxInput {
		return fault.New("too_large", "more than %d bytes for stdin", maxInput)
	}
	return noContent(w, e.stdin.write(r.Context(), b, r.URL.Query().Get("close") == "1"))
}

func kill(e *Execution, w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Signal int `json:"signal"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&body); err != nil || body.Signal < 1 || body.Signal > 64 {
		return fault.New("bad_request", "signal must be a number from 1 to 64")
	}
	if !e.kill(syscall.Signal(body.Signal)) {
		return fault.New("refused", "execution %s has ended", e.ID)
	}
	return noContent(w, nil)
}

// withExecution looks up the execution of a request.
func (t *Table) withExecution(do func(*Execution, http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e, err := t.Get(r.PathValue("id"))
		if err == nil {
			err = do(e, w, r)
		}
		if err != nil {
			fault.Send(w, err)
		}
	}
}

func noContent(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
