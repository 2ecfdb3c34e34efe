package execution

import (
	"os"
	"sync"
	"syscall"
	"time"

	"mayfly/agent/internal/cgroup"
	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/shell"
)

// devNull is every command's stdin unless it asked for one.
var devNull = sync.OnceValues(func() (*os.File, error) { return os.Open(os.DevNull) })

// start runs the command; done is called just before its result is known.
func start(r *Request, tree *cgroup.Tree, budget *Budget, done func()) (*Execution, error) {
	env, err := shell.Environment(r.Env)
	if err != nil {
		return nil, err
	}
	dir, err := shell.Directory(r.Cwd)
	if err != nil {
		return nil, err
	}
	group, err := tree.Make(r.ID)
	if err != nil {
		return nil, err
	}
	ends, err := openEnds(r)
	if err != nil {
		group.Release()
		return nil, fault.New("internal", "%s", err)
	}
	e := &Execution{ID: r.ID, StartedAt: time.Now(), group: group, follow: r.Follow, followers: map[*follower]struct{}{}}
	e.changed = sync.NewCond(&e.mu)
	for i := range e.outputs {
		e.outputs[i] = output{limit: r.capture(), budget: budget}
	}
	pid, err := shell.Start{Args: arguments(r.Command), Env: env, Dir: dir, Files: ends.theirs, Group: group}.Run()
	ends.closeTheirs()
	if err != nil {
		ends.closeOurs()
		group.Release()
		return nil, err
	}
	e.stdin = ends.stdin
	go e.supervise(pid, ends, time.Duration(r.TimeoutMs)*time.Millisecond, done)
	return e, nil
}

// supervise sees the command to its end.
func (e *Execution) supervise(pid int, ends *ends, timeout time.Duration, done func()) {
	var pumps sync.WaitGroup
	for i, p := range ends.outputs {
		pumps.Add(1)
		go func() {
			defer pumps.Done()
			p.pump(func(b []byte) { e.add(i, b) })
		}()
	}
	if timeout > 0 {
		timer := time.AfterFunc(timeout, e.expire)
		defer timer.Stop()
	}
	ws := wait(pid)
	finished := time.Now()
	e.noteExit()
	for _, p := range ends.outputs {
		p.interrupt()
	}
	pumps.Wait()
	for i, p := range ends.outputs {
		p.drain(func(b []byte) { e.add(i, b) })
	}
	e.closeStdin()
	done()
	e.finish(ws, finished)
	e.group.Release()
}

func wait(pid int) (ws syscall.WaitStatus) {
	for {
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err != syscall.EINTR {
			return ws
		}
	}
}
