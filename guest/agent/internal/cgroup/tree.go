// Package cgroup gives each command a control group of its own, and takes it away when its last process has gone.
package cgroup

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Tree is the group under which the users' groups are made. The zero Tree makes groups that stand for a session only:
// enough for tests on a machine whose control groups are somebody else's.
type Tree struct {
	root string

	mu      sync.Mutex
	leaving map[string]struct{}
	sweeps  bool
}

// Open makes groups under root, which exists. Groups that an earlier agent left are removed once they are empty.
func Open(root string) *Tree {
	t := &Tree{root: root}
	old, _ := os.ReadDir(root)
	for _, d := range old {
		if d.IsDir() {
			t.leave(filepath.Join(root, d.Name()))
		}
	}
	return t
}

// Make makes a group; a process starts in it through FD.
func (t *Tree) Make(name string) (*Group, error) {
	g := &Group{tree: t, fd: -1}
	if t.root == "" {
		return g, nil
	}
	g.dir = filepath.Join(t.root, name)
	if err := syscall.Mkdir(g.dir, 0o755); err != nil {
		return nil, &os.PathError{Op: "mkdir", Path: g.dir, Err: err}
	}
	fd, err := syscall.Open(g.dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		syscall.Rmdir(g.dir)
		return nil, &os.PathError{Op: "open", Path: g.dir, Err: err}
	}
	g.fd = fd
	return g, nil
}

const (
	firstSweep = 100 * time.Millisecond
	lastSweep  = 2 * time.Second
)

// leave has the janitor remove a group that still has processes. One janitor serves all, and only while there are any.
func (t *Tree) leave(dir string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leaving == nil {
		t.leaving = map[string]struct{}{}
	}
	t.leaving[dir] = struct{}{}
	if !t.sweeps {
		t.sweeps = true
		go t.sweep()
	}
}

func (t *Tree) sweep() {
	for pause := firstSweep; ; pause = min(2*pause, lastSweep) {
		time.Sleep(pause)
		t.mu.Lock()
		for dir := range t.leaving {
			if err := syscall.Rmdir(dir); err != syscall.EBUSY {
				delete(t.leaving, dir)
			}
		}
		if len(t.leaving) == 0 {
			t.sweeps = false
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
	}
}
