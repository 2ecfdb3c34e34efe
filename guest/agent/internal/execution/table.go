package execution

import (
	"slices"
	"sync"

	"mayfly/agent/internal/cgroup"
	"mayfly/agent/internal/fault"
)

const (
	maxRunning  = 256
	maxFinished = 1024
	// What is kept of acknowledged live commands, for readers that come back.
	maxKept      = 128
	maxKeptBytes = 256 << 20
)

// Table holds every execution that the host has not acknowledged, and the latest live ones.
type Table struct {
	Tree   *cgroup.Tree
	Budget *Budget

	mu       sync.Mutex
	known    map[string]*Execution // nil while being started
	running  int
	finished []string // not acknowledged, oldest first
	kept     []string // acknowledged, oldest first
	machine  int      // counts the machines that the table has belonged to
}

// Start runs a command. Its id must not be in use.
func (t *Table) Start(r *Request) (*Execution, error) {
	machine, err := t.reserve(r.ID)
	if err != nil {
		return nil, err
	}
	e, err := start(r, t.Tree, t.Budget, func() { t.noteFinished(r.ID, machine) })
	t.mu.Lock()
	defer t.mu.Unlock()
	if machine != t.machine {
		if err == nil {
			e.abandon()
		}
		return nil, fault.New("not_found", "execution %s belongs to another machine", r.ID)
	}
	if err != nil {
		t.running--
		delete(t.known, r.ID)
		return nil, err
	}
	t.known[r.ID] = e
	return e, nil
}

// reserve returns the machine that the execution belongs to.
func (t *Table) reserve(id string) (machine int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.known[id]; known {
		return 0, fault.New("exists", "execution %s already exists", id)
	}
	if t.running >= maxRunning {
		return 0, fault.New("too_many", "%d commands are already running", t.running)
	}
	if t.known == nil {
		t.known = map[string]*Execution{}
	}
	t.known[id] = nil
	t.running++
	return t.machine, nil
}

// noteFinished records that a command has finished, and drops the oldest result if too many are unacknowledged.
func (t *Table) noteFinished(id string, machine int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if machine != t.machine {
		return
	}
	t.running--
	t.finished = append(t.finished, id)
	if len(t.finished) > maxFinished {
		t.forget(t.finished[0])
	}
}

// Abandon forgets all executions, because this machine has become a copy of the one that they belong to. Running commands go on, until their
// timeout at most. Their output is discarded, their stdin ends, and responses that stream them end without a result.
func (t *Table) Abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.known {
		if e != nil {
			e.abandon()
		}
	}
	t.machine++
	t.known, t.finished, t.kept, t.running = nil, nil, nil, 0
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

// Acknowledge drops a finished execution: the host has stored its result. A live one is kept for readers that come back, as long as there
// is room.
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
	if e.spool == nil {
		t.forget(id)
	} else if t.known[id] == e && !slices.Contains(t.kept, id) {
		t.keep(e)
	}
	return nil
}

// keep moves a live execution from the finished ones to the kept ones. The caller holds the lock.
func (t *Table) keep(e *Execution) {
	e.mu.Lock()
	e.freeCaptured()
	e.mu.Unlock()
	t.finished = slices.DeleteFunc(t.finished, func(id string) bool { return id == e.ID })
	t.kept = append(t.kept, e.ID)
	for len(t.kept) > maxKept || len(t.kept) > 1 && t.keptBytes() > maxKeptBytes {
		t.forget(t.kept[0])
	}
}

// keptBytes is the disk space of the kept executions. The caller holds the lock.
func (t *Table) keptBytes() (bytes int64) {
	for _, id := range t.kept {
		e := t.known[id]
		e.mu.Lock()
		bytes += e.spool.diskBytes()
		e.mu.Unlock()
	}
	return bytes
}

// forget drops a finished execution. The caller holds the lock.
func (t *Table) forget(id string) {
	e := t.known[id]
	if e == nil {
		return
	}
	delete(t.known, id)
	isForgotten := func(other string) bool { return other == id }
	t.finished = slices.DeleteFunc(t.finished, isForgotten)
	t.kept = slices.DeleteFunc(t.kept, isForgotten)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.free()
	e.changed.Broadcast()
}
