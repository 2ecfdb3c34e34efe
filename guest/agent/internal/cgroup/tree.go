// Package cgroup gives each command its own cgroup and removes it when its last process has ended.
package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Tree is the cgroup that contains the groups of commands. The groups of a zero Tree only signal the session of their leader, which
// is enough for tests on a machine without writable cgroups.
type Tree struct {
	root string

	mu       sync.Mutex
	removing map[string]struct{} // groups that still have processes
	sweeping bool
}

// Open returns the tree at root, which must exist. Groups left by a previous agent are removed once they are empty.
func Open(root string) *Tree {
	t := &Tree{root: root}
	old, _ := os.ReadDir(root)
	for _, d := range old {
		if d.IsDir() {
			t.removeLater(filepath.Join(root, d.Name()))
		}
	}
	return t
}

// maxCopies is how many groups of one name there can be.
const maxCopies = 16

// Make creates a group. Where a group of that name still has processes, of a command that nobody knows any more, the new one gets a suffix.
func (t *Tree) Make(name string) (*Group, error) {
	g := &Group{tree: t, fd: -1}
	if t.root == "" {
		return g, nil
	}
	g.dir = filepath.Join(t.root, name)
	err := syscall.Mkdir(g.dir, 0o755)
	for copy := 2; err == syscall.EEXIST && copy <= maxCopies; copy++ {
		g.dir = filepath.Join(t.root, name+"."+strconv.Itoa(copy))
		err = syscall.Mkdir(g.dir, 0o755)
	}
	if err != nil {
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
	minSweepInterval = 100 * time.Millisecond
	maxSweepInterval = 2 * time.Second
)

// removeLater removes a group once its processes have ended. One goroutine does this for all groups, and runs only while there are any.
func (t *Tree) removeLater(dir string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.removing == nil {
		t.removing = map[string]struct{}{}
	}
	t.removing[dir] = struct{}{}
	if !t.sweeping {
		t.sweeping = true
		go t.sweep()
	}
}

func (t *Tree) sweep() {
	for pause := minSweepInterval; ; pause = min(2*pause, maxSweepInterval) {
		time.Sleep(pause)
		t.mu.Lock()
		for dir := range t.removing {
			if err := syscall.Rmdir(dir); err != syscall.EBUSY {
				delete(t.removing, dir)
			}
		}
		if len(t.removing) == 0 {
			t.sweeping = false
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
	}
}
