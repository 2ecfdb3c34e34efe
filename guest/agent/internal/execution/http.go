package execution

import (
	"encoding/json"
	"net/http"
	"slices"
	"syscall"

	"mayfly/agent/internal/fault"
)

// Register adds the execution requests to mux.
func (t *Table) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /executions", t.post)
	mux.HandleFunc("GET /executions", t.list)
	mux.HandleFunc("GET /executions/{id}", t.withExecution(func(e *Execution, w http.ResponseWriter, r *http.Request) error {
		send(e, w, r)
		return nil
	}))
	mux.HandleFunc("POST /executions/{id}/stdin", t.withExecution(func(e *Execution, w http.ResponseWriter, r *http.Request) error {
		return noContent(w, e.writeStdin(r.Context(), r.Body, r.URL.Query().Get("close") == "1"))
	}))
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
		var e *Execution
		if e, err = t.Start(request); err == nil {
			send(e, w, r)
			return
		}
	}
	fault.Send(w, err)
}

func send(e *Execution, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("content-type", "application/octet-stream")
	e.stream(r.Context(), w)
}

func kill(e *Execution, w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Signal int `json:"signal"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096)).Decode(&body); err != nil || body.Signal < 1 || body.Signal > 64 {
		return fault.New("bad_request", "signal must be a number from 1 to 64")
	}
	e.kill(syscall.Signal(body.Signal))
	return noContent(w, nil)
}

func (t *Table) list(w http.ResponseWriter, r *http.Request) {
	type row struct {
		ID          string `json:"id"`
		Running     bool   `json:"running"`
		StartedAtMs int64  `json:"started_at_ms"`
	}
	rows := []row{}
	for _, e := range t.All() {
		rows = append(rows, row{e.ID, e.running(), e.StartedAt.UnixMilli()})
	}
	slices.SortFunc(rows, func(a, b row) int { return int(a.StartedAtMs - b.StartedAtMs) })
	w.Header().Set("content-type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"executions": rows})
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
