package terminal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"mayfly/agent/internal/cgroup"
	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/shell"
)

const (
	maxTerminals = 64
	// maxIdle is how long a terminal goes on without a viewer, for example because the host does not come back.
	maxIdle = 2 * time.Hour
)

// Table holds the running terminals.
type Table struct {
	Tree *cgroup.Tree

	mu     sync.Mutex
	known  map[string]*Terminal
	copied int // counts the terminals that belong to the machine that this one is a copy of
}

// Register adds the terminal requests to mux.
func (t *Table) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /terminals", t.post)
	mux.HandleFunc("GET /terminals", t.list)
	mux.HandleFunc("POST /terminals/{id}", t.withTerminal(func(terminal *Terminal, w http.ResponseWriter, r *http.Request) error {
		after, err := strconv.ParseInt(orDefault(r.URL.Query().Get("after"), "0"), 10, 64)
		if err != nil || after < 0 {
			return fault.New("bad_request", "after must be a number of bytes")
		}
		terminal.view(w, r, after)
		return nil
	}))
	mux.HandleFunc("DELETE /terminals/{id}", t.withTerminal(func(terminal *Terminal, w http.ResponseWriter, r *http.Request) error {
		terminal.hangUp()
		w.WriteHeader(http.StatusNoContent)
		return nil
	}))
}

// post starts a terminal and streams it.
func (t *Table) post(w http.ResponseWriter, r *http.Request) {
	terminal, err := t.start(r.URL.Query())
	if err != nil {
		fault.Send(w, err)
		return
	}
	terminal.view(w, r, 0)
}

func (t *Table) list(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	ids := []string{}
	for id := range t.known {
		if validID.MatchString(id) {
			ids = append(ids, id)
		}
	}
	t.mu.Unlock()
	slices.Sort(ids)
	w.Header().Set("content-type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"terminals": ids})
}

func (t *Table) withTerminal(do func(*Terminal, http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		t.mu.Lock()
		terminal := t.known[id]
		t.mu.Unlock()
		var err error
		if terminal == nil || !validID.MatchString(id) {
			err = fault.New("not_found", "no such terminal: %.128s", id)
		} else {
			err = do(terminal, w, r)
		}
		if err != nil {
			fault.Send(w, err)
		}
	}
}

var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// start starts a terminal. Its id must not be in use.
func (t *Table) start(q url.Values) (*Terminal, error) {
	s, err := parseSize(q)
	if err != nil {
		return nil, err
	}
	id := q.Get("id")
	if !validID.MatchString(id) {
		return nil, fault.New("bad_request", "id must be 1 to 128 letters, digits, _ or -")
	}
	dir, err := shell.Directory(q.Get("cwd"))
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[id] != nil {
		return nil, fault.New("exists", "terminal %s already exists", id)
	}
	if len(t.known) >= maxTerminals {
		return nil, fault.New("too_many", "%d terminals are already open", len(t.known))
	}
	group, err := t.Tree.Make(id)
	if err != nil {
		return nil, err
	}
	var terminal *Terminal
	terminal, err = start(group, dir, s, func() { t.forget(terminal) })
	if err != nil {
		group.Release()
		return nil, err
	}
	if t.known == nil {
		t.known = map[string]*Terminal{}
	}
	t.known[id] = terminal
	return terminal, nil
}

// forget drops a terminal whose shell has exited.
func (t *Table) forget(ended *Terminal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, terminal := range t.known {
		if terminal == ended {
			delete(t.known, id)
		}
	}
}

// Abandon makes all terminals unreachable, because this machine has become a copy of the one that they belong to. They go on until they have
// been without a viewer for too long.
func (t *Table) Abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	abandoned := map[string]*Terminal{}
	for _, terminal := range t.known {
		t.copied++
		abandoned[fmt.Sprintf("copied %d", t.copied)] = terminal
	}
	t.known = abandoned
}

// EndIdle hangs up the terminals that nobody has viewed for too long.
func (t *Table) EndIdle() { t.endIdle(maxIdle) }

func (t *Table) endIdle(idle time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, terminal := range t.known {
		if terminal.isAbandoned(idle) {
			terminal.hangUp()
		}
	}
}

func parseSize(q url.Values) (size, error) {
	cols, err1 := strconv.ParseUint(orDefault(q.Get("cols"), "80"), 10, 16)
	rows, err2 := strconv.ParseUint(orDefault(q.Get("rows"), "24"), 10, 16)
	s := size{uint16(cols), uint16(rows)}
	if err1 != nil || err2 != nil || !s.valid() {
		return s, fault.New("bad_request", "cols and rows must be numbers from 1 to 1000")
	}
	return s, nil
}

func orDefault(v, fallback string) string {
	if v == "" {
		return fallback
	}
	return v
}
