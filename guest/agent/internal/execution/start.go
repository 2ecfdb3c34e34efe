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

// devNull is the stdin of every command that did not request one.
var devNull = sync.OnceValues(func() (*os.File, error) { return os.Open(os.DevNull) })

// start runs the command. done is called just before its result is set.
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
	stdio, err := openStdio(r)
	if err != nil {
		group.Release()
		return nil, fault.New("internal", "%s", err)
	}
	e := &Execution{ID: r.ID, StartedAt: time.Now(), group: group}
	e.changed = sync.NewCond(&e.mu)
	for i := range e.outputs {
		e.outputs[i] = output{limit: r.capture(), budget: budget}
	}
	if r.SpoolBytes > 0 {
		e.spool = newSpool(r.SpoolBytes)
	}
	pid, err := shell.Start{Args: arguments(r.Command), Env: env, Dir: dir, Files: stdio.childFDs, Group: group}.Run()
	stdio.closeChildFDs()
	if err != nil {
		stdio.closeAgentFDs()
		group.Release()
		return nil, err
	}
	if stdio.stdin != nil {
		e.stdin = newInput(stdio.stdin)
	}
	go e.supervise(pid, stdio, time.Duration(r.TimeoutMs)*time.Millisecond, done)
	return e, nil
}

// supervise collects the output of the command and waits for it to end.
func (e *Execution) supervise(pid int, stdio *stdio, timeout time.Duration, done func()) {
	var pumps sync.WaitGroup
	for i, p := range stdio.outputs {
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
	for _, p := range stdio.outputs {
		p.interrupt()
	}
	pumps.Wait()
	for i, p := range stdio.outputs {
		p.drain(func(b []byte) { e.add(i, b) })
	}
	e.stdin.end()
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
