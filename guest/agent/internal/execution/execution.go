package execution

import (
	"os"
	"sync"
	"syscall"
	"time"

	"mayfly/agent/internal/cgroup"
)

// Execution is one command, running or ended.
type Execution struct {
	ID        string
	StartedAt time.Time

	group  *cgroup.Group
	follow bool
	stdin  *os.File // nil unless asked for
	typing sync.Mutex

	mu        sync.Mutex
	changed   *sync.Cond
	outputs   [2]output
	followers map[*follower]struct{}
	exited    bool // the shell has ended
	timedOut  bool
	result    *Result
}

// Result is what became of a command.
type Result struct {
	ExitCode     int   `json:"exit_code"`
	Signal       int   `json:"signal"`
	TimedOut     bool  `json:"timed_out"`
	OOMKilled    bool  `json:"oom_killed"`
	DurationMs   int64 `json:"duration_ms"`
	StartedAtMs  int64 `json:"started_at_ms"`
	FinishedAtMs int64 `json:"finished_at_ms"`
	StdoutBytes  int64 `json:"stdout_bytes"`
	StderrBytes  int64 `json:"stderr_bytes"`
	Truncated    bool  `json:"truncated"`
}

const timeoutExitCode = 124

// windowLen is how far a command may run ahead of the slowest of its followers, in bytes of each stream.
const windowLen = 256 << 10

// add takes bytes a stream of the command has produced, and waits while a follower lags too far behind.
func (e *Execution) add(stream int, p []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := &e.outputs[stream]
	o.add(p, e.follow && len(e.followers) > 0)
	e.changed.Broadcast()
	for len(o.window) >= windowLen && len(e.followers) > 0 && !e.exited {
		e.changed.Wait()
	}
}

// kill sends a signal to all its processes, also to those it left in the background.
func (e *Execution) kill(sig syscall.Signal) { e.group.Signal(sig) }

// expire ends the command because its time is up, unless it has just ended by itself.
func (e *Execution) expire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.exited {
		e.timedOut = true
		e.group.Kill()
	}
}

// noteExit records that the shell has ended: no timeout counts from here on and no follower is waited for.
func (e *Execution) noteExit() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.exited = true
	e.changed.Broadcast()
}

// finish makes the result known.
func (e *Execution) finish(ws syscall.WaitStatus, finished time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out, err := &e.outputs[0], &e.outputs[1]
	r := &Result{
		ExitCode: exitCode(ws), TimedOut: e.timedOut,
		DurationMs: finished.Sub(e.StartedAt).Milliseconds(), StartedAtMs: e.StartedAt.UnixMilli(), FinishedAtMs: finished.UnixMilli(),
		StdoutBytes: out.total, StderrBytes: err.total, Truncated: out.total > out.kept || err.total > err.kept,
	}
	if ws.Signaled() {
		r.Signal = int(ws.Signal())
	}
	if r.ExitCode != 0 {
		r.OOMKilled = e.group.OOMKilled()
	}
	if e.timedOut {
		r.ExitCode = timeoutExitCode
	}
	e.result = r
	e.changed.Broadcast()
}

func exitCode(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// running tells whether the result is still to come.
func (e *Execution) running() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.result == nil
}
