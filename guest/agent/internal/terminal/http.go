package terminal

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync"

	"mayfly/agent/internal/cgroup"
	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/shell"
)

const maxTerminals = 64

// Table holds the running terminals.
type Table struct {
	Tree *cgroup.Tree

	mu    sync.Mutex
	known map[string]*Terminal
}

// Register adds the terminal request to mux.
func (t *Table) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /terminals", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		terminal, err := t.open(q)
		if err != nil {
			fault.Send(w, err)
			return
		}
		terminal.view(w, r, q.Get("id") != "")
	})
}

var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// open returns the running terminal with the requested id, or starts a new one.
func (t *Table) open(q url.Values) (*Terminal, error) {
	s, err := parseSize(q)
	if err != nil {
		return nil, err
	}
	id := q.Get("id")
	if id == "" {
		id = randomID()
	} else if !validID.MatchString(id) {
		return nil, fault.New("bad_request", "id must be 1 to 128 letters, digits, _ or -")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.known[id]; known != nil {
		known.resize(s)
		return known, nil
	}
	if len(t.known) >= maxTerminals {
		return nil, fault.New("too_many", "%d terminals are already open", len(t.known))
	}
	dir, err := shell.Directory(q.Get("cwd"))
	if err != nil {
		return nil, err
	}
	group, err := t.Tree.Make(id)
	if err != nil {
		return nil, err
	}
	terminal, err := start(group, dir, s, func() { t.forget(id) })
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

func (t *Table) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, id)
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

func randomID() string {
	var b [8]byte
	rand.Read(b[:])
	return "pty_" + hex.EncodeToString(b[:])
}
