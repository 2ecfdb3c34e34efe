package files

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"mayfly/agent/internal/fault"
)

const (
	defaultEntries = 10_000
	maxEntries     = 200_000
)

// Register adds the file requests to mux.
func Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /files", get)
	mux.HandleFunc("PUT /files", put)
	mux.HandleFunc("GET /files/list", getList)
	mux.HandleFunc("DELETE /files", del)
}

// target reads the path and one integer parameter of a request.
func target(r *http.Request, name string, fallback int64) (p string, number int64, err error) {
	q := r.URL.Query()
	if p, err = Resolve(q.Get("path")); err != nil {
		return "", 0, err
	}
	if v := q.Get(name); v != "" {
		if fallback, err = strconv.ParseInt(v, 10, 64); err != nil || fallback < 0 {
			return "", 0, fault.New("bad_request", "%s must be a non-negative integer", name)
		}
	}
	return p, fallback, nil
}

func get(w http.ResponseWriter, r *http.Request) {
	p, limit, err := target(r, "max_bytes", -1)
	if err != nil {
		fault.Send(w, err)
		return
	}
	f, err := Open(p, limit)
	if err != nil {
		fault.Send(w, err)
		return
	}
	defer f.Close()
	h := w.Header()
	h.Set("content-type", "application/octet-stream")
	h.Set("content-length", strconv.FormatInt(f.Size, 10))
	h.Set("mayfly-size", strconv.FormatInt(f.Size, 10))
	if n, err := io.CopyBuffer(struct{ io.Writer }{w}, io.LimitReader(f, f.Size), make([]byte, 64<<10)); err != nil || n != f.Size {
		panic(http.ErrAbortHandler) // the file shrank or the host disconnected: the stream must not look complete
	}
}

func put(w http.ResponseWriter, r *http.Request) {
	p, limit, err := target(r, "max_bytes", -1)
	if err == nil && limit >= 0 && r.ContentLength > limit {
		err = fault.New("too_large", "body exceeds %d bytes", limit)
	}
	if err != nil {
		fault.Send(w, err)
		return
	}
	n, err := Write(p, r.Body, limit)
	if err != nil {
		fault.Send(w, err)
		return
	}
	sendJSON(w, map[string]any{"path": p, "bytes": n})
}

// listing is the answer to GET /files/list. The service reads it entry by entry, in this order.
type listing struct {
	Path      string  `json:"path"`
	Entries   []Entry `json:"entries"`
	Truncated bool    `json:"truncated"`
}

func getList(w http.ResponseWriter, r *http.Request) {
	p, limit, err := target(r, "max_entries", defaultEntries)
	if err != nil {
		fault.Send(w, err)
		return
	}
	entries, truncated, err := List(p, int(min(limit, maxEntries)))
	if err != nil {
		fault.Send(w, err)
		return
	}
	sendJSON(w, listing{p, entries, truncated})
}

func del(w http.ResponseWriter, r *http.Request) {
	p, recursive, err := target(r, "recursive", 0)
	if err == nil {
		err = Remove(p, recursive == 1)
	}
	if err != nil {
		fault.Send(w, err)
		return
	}
	sendJSON(w, map[string]any{"path": p})
}

func sendJSON(w http.ResponseWriter, v any) {
	w.Header().Set("content-type", "application/json")
	json.NewEncoder(w).Encode(v)
}
