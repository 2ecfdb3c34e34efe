package execution

import (
	"sync"
	"syscall"
	"time"

	"mayfly/agent/internal/cgroup"
)

// Execution is one command, running or finished.
type Execution struct {
	ID        string
	StartedAt time.Time

	group *cgroup.Group
	stdin *input // nil unless requested

	mu        sync.Mutex
	changed   *sync.Cond
	outputs   [2]output
	spool     *spool // nil unless the command is live
	exited    bool   // the shell has exited
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

// add records bytes that the command wrote to a stream. It never waits for a reader.
func (e *Execution) add(stream int, p []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outputs[stream].add(p)
	if e.spool != nil && !e.abandoned {
		e.spool.add(stream, p)
	}
	e.changed.Broadcast()
}

// kill sends a signal to all processes of the command, including background processes. It reports whether the command was running.
func (e *Execution) kill(sig syscall.Signal) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.exited || e.abandoned {
		return false
	}
	e.group.Signal(sig)
	return true
}

// expire kills the command because it timed out, unless it has just exited.
func (e *Execution) expire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.exited {
		e.timedOut = true
		e.group.Kill()
	}
}

// noteExit records that the shell has exited. From then on the timeout has no effect.
func (e *Execution) noteExit() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.exited = true
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

// freeCaptured drops the captured output, but not what a reader can still continue from. The caller holds the lock.
func (e *Execution) freeCaptured() {
	for i := range e.outputs {
		e.outputs[i].free()
	}
}

// free drops all output. The caller holds the lock.
func (e *Execution) free() {
	e.freeCaptured()
	if e.spool != nil {
		e.spool.free()
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
	e.stdin.end()
	e.changed.Broadcast()
}

// running reports whether the command has no result yet.
func (e *Execution) running() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.result == nil
}

// wake makes everybody who waits for the execution look again.
func (e *Execution) wake() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changed.Broadcast()
}

// written is the number of bytes that the command has written to both streams.
func (e *Execution) written() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.outputs[0].total + e.outputs[1].total
}
