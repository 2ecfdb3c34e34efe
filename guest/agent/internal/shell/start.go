package shell

import (
	"os"
	"sync"
	"syscall"
	"unsafe"

	"mayfly/agent/internal/cgroup"
	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/fsuser"
)

// Start describes the process to start.
type Start struct {
	Args     []string
	Env      []string
	Dir      string
	Files    []uintptr // descriptors 0, 1, 2 …
	Group    *cgroup.Group
	Terminal bool // makes descriptor 0 the controlling terminal
}

const rlimitNPROC = 6

// startMu serialises starts, because they change the agent's own OOM score and process limit for a moment.
var startMu sync.Mutex

// Run starts bash as the user, in a new session and in the group. It returns once bash has been executed.
func (s Start) Run() (pid int, err error) {
	sys := &syscall.SysProcAttr{
		Setsid:     true,
		Setctty:    s.Terminal,
		Credential: &syscall.Credential{Uid: fsuser.UID, Gid: fsuser.GID},
	}
	s.Group.Enter(sys)
	attr := &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: s.Files, Sys: sys}

	startMu.Lock()
	defer startMu.Unlock()
	defer resetOOMScore()()
	pid, err = syscall.ForkExec(Path, s.Args, attr)
	if err == syscall.EAGAIN {
		pid, err = forkAboveSoftLimit(s.Args, attr)
	}
	switch err {
	case nil:
		s.Group.Started(pid)
		return pid, nil
	case syscall.E2BIG:
		return 0, fault.New("arguments_too_large", "command and environment are too large to execute")
	case syscall.EAGAIN:
		return 0, fault.New("too_many", "process limit of the user reached")
	default:
		return 0, fault.New("internal", "could not start %s: %s", Path, err)
	}
}

// forkAboveSoftLimit starts a process although the user has reached the soft limit of processes, for example because of a fork bomb, so
// that the user can still end them. The check at execve uses the hard limit; the process gets the soft limit back immediately.
func forkAboveSoftLimit(args []string, attr *syscall.ProcAttr) (int, error) {
	var usual syscall.Rlimit
	if err := syscall.Getrlimit(rlimitNPROC, &usual); err != nil || usual.Cur >= usual.Max {
		return 0, syscall.EAGAIN
	}
	if err := syscall.Setrlimit(rlimitNPROC, &syscall.Rlimit{Cur: usual.Max, Max: usual.Max}); err != nil {
		return 0, syscall.EAGAIN
	}
	defer syscall.Setrlimit(rlimitNPROC, &usual)
	pid, err := syscall.ForkExec(Path, args, attr)
	if err == nil {
		syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitNPROC, uintptr(unsafe.Pointer(&usual)), 0, 0, 0)
	}
	return pid, err
}

// oomScore is the oom_score_adj file of the agent, or nil if the agent is not exempt from the OOM killer.
var oomScore *os.File

// OpenOOMScore must be called once by an agent that init has exempted from the OOM killer.
func OpenOOMScore() error {
	f, err := os.OpenFile("/proc/self/oom_score_adj", os.O_WRONLY, 0)
	oomScore = f
	return err
}

// resetOOMScore makes processes that are started before the returned function is called subject to the OOM killer. A child inherits the
// score at fork, so the agent resets its own score for that moment. The child is never exempt, and because root set the score, it
// cannot lower it.
func resetOOMScore() (restore func()) {
	if oomScore == nil {
		return func() {}
	}
	oomScore.WriteAt([]byte("0"), 0)
	return func() { oomScore.WriteAt([]byte("-1000"), 0) }
}
