package execution

import (
	"os"
	"sync"
	"syscall"
	"time"

	"mayfly/agent/internal/cgroup"
)

// Execution is one command, running or finished.
type Execution struct {
	ID        string
	StartedAt time.Time

	group   *cgroup.Group
	follow  bool
	stdin   *os.File // nil unless requested
	stdinMu sync.Mutex

	mu        sync.Mutex
	changed   *sync.Cond
	outputs   [2]output
	followers map[*follower]struct{}
	exited    bool // the shell has exited
	timedOut  bool
	abandoned bool // the execution belongs to another machine
	result    *Result
}

// Result is the result of a command.
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

// windowLen is how far a command may run ahead of its slowest follower, in bytes per stream.
const windowLen = 256 << 10

// add records bytes that the command wrote to a stream, and blocks while a follower is too far behind.
func (e *Execution) add(stream int, p []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := &e.outputs[stream]
	o.add(p, e.follow && len(e.followers) > 0 && !e.abandoned)
	e.changed.Broadcast()
	for len(o.window) >= windowLen && len(e.followers) > 0 && !e.exited && !e.abandoned {
		e.changed.Wait()
	}
}

// kill sends a signal to all processes of the command, including background processes.
func (e *Execution) kill(sig syscall.Signal) { e.group.Signal(sig) }

// expire kills the command because it timed out, unless it has just exited.
func (e *Execution) expire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.exited {
		e.timedOut = true
		e.group.Kill()
	}
}

// noteExit records that the shell has exited. From then on the timeout has no effect and followers do not block the command.
func (e *Execution) noteExit() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.exited = true
	e.changed.Broadcast()
}

// finish sets the result.
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

// free drops the captured output. The caller holds the lock.
func (e *Execution) free() {
	for i := range e.outputs {
		e.outputs[i].free()
	}
}

// abandon drops the output for good and ends all streams. The command goes on.
func (e *Execution) abandon() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.abandoned = true
	e.free()
	for i := range e.outputs {
		e.outputs[i].limit = 0
	}
	e.closeStdin()
	e.changed.Broadcast()
}

// running reports whether the command has no result yet.
func (e *Execution) running() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.result == nil
}
