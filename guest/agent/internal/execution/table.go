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

// Table holds every execution that the host has not acknowledged.
type Table struct {
	Tree   *cgroup.Tree
	Budget *Budget

	mu       sync.Mutex
	known    map[string]*Execution // nil while being started
	running  int
	finished []string // oldest first
}

// Start runs a command. Its id must not be in use.
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
		return fault.New("exists", "execution %s already exists", id)
	}
	if t.running >= maxRunning {
		return fault.New("too_many", "%d commands are already running", t.running)
	}
	if t.known == nil {
		t.known = map[string]*Execution{}
	}
	t.known[id] = nil
	t.running++
	return nil
}

// noteFinished records that a command has finished, and drops the oldest result if too many are unacknowledged.
func (t *Table) noteFinished(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	t.finished = append(t.finished, id)
	if len(t.finished) > maxFinished {
		t.forget(t.finished[0])
	}
}

// Get returns the execution with the given id.
func (t *Table) Get(id string) (*Execution, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.known[id]; e != nil {
		return e, nil
	}
	return nil, fault.New("not_found", "no such execution: %s", id)
}

// All returns all executions, in no particular order.
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

// Acknowledge drops a finished execution: the host has stored its result.
func (t *Table) Acknowledge(id string) error {
	e, err := t.Get(id)
	if err != nil {
		return err
	}
	if e.running() {
		return fault.New("exists", "execution %s is still running", id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(id)
	return nil
}

// forget drops a finished execution. The caller holds the lock.
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
