package execution

import (
	"sync"

	"mayfly/agent/internal/cgroup"
	"mayfly/agent/internal/fault"
)

const (
	maxRunning  = 256
	maxFinished = 1024
)

// Table knows every execution the host has not acknowledged yet.
type Table struct {
	Tree   *cgroup.Tree
	Budget *Budget

	mu       sync.Mutex
	known    map[string]*Execution // nil: being started
	running  int
	finished []string // oldest first
}

// Start runs a command under an id that is not known yet.
func (t *Table) Start(r *Request) (*Execution, error) {
	if err := t.reserve(r.ID); err != nil {
		return nil, err
	}
	e, err := start(r, t.Tree, t.Budget, func() { t.noteFinished(r.ID) })
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.running--
		delete(t.known, r.ID)
		return nil, err
	}
	t.known[r.ID] = e
	return e, nil
}

func (t *Table) reserve(id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.known[id]; known {
		return fault.New("exists", "execution %s is known", id)
	}
	if t.running >= maxRunning {
		return fault.New("too_many", "%d commands are running", t.running)
	}
	if t.known == nil {
		t.known = map[string]*Execution{}
	}
	t.known[id] = nil
	t.running++
	return nil
}

// noteFinished makes room for others, and forgets the oldest result when too many wait to be acknowledged.
func (t *Table) noteFinished(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	t.finished = append(t.finished, id)
	if len(t.finished) > maxFinished {
		t.forget(t.finished[0])
	}
}

// Get returns a known execution.
func (t *Table) Get(id string) (*Execution, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.known[id]; e != nil {
		return e, nil
	}
	return nil, fault.New("not_found", "no execution %s", id)
}

// All returns what is known, in no order.
func (t *Table) All() (all []*Execution) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.known {
		if e != nil {
			all = append(all, e)
		}
	}
	return all
}

// Acknowledge forgets an ended execution: the host has its result.
func (t *Table) Acknowledge(id string) error {
	e, err := t.Get(id)
	if err != nil {
		return err
	}
	if e.running() {
		return fault.New("exists", "execution %s is running", id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(id)
	return nil
}

// forget drops a finished execution; the caller holds the lock.
func (t *Table) forget(id string) {
	e := t.known[id]
	if e == nil {
		return
	}
	delete(t.known, id)
	for i, f := range t.finished {
		if f == id {
			t.finished = append(t.finished[:i], t.finished[i+1:]...)
			break
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.outputs {
		e.outputs[i].free()
	}
}
