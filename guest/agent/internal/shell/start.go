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

// Start is what a process begins with.
type Start struct {
	Args     []string
	Env      []string
	Dir      string
	Files    []uintptr // its descriptors 0, 1, 2 ...
	Group    *cgroup.Group
	Terminal bool // descriptor 0 becomes its controlling terminal
}

const rlimitNPROC = 6

var starting sync.Mutex

// Run starts bash as the user in a session of its own, in the group. It returns once the program has been executed.
func (s Start) Run() (pid int, err error) {
	sys := &syscall.SysProcAttr{
		Setsid:     true,
		Setctty:    s.Terminal,
		Credential: &syscall.Credential{Uid: fsuser.UID, Gid: fsuser.GID},
	}
	s.Group.Enter(sys)
	attr := &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: s.Files, Sys: sys}

	starting.Lock()
	defer starting.Unlock()
	defer expose()()
	pid, err = syscall.ForkExec(Path, s.Args, attr)
	if err == syscall.EAGAIN {
		pid, err = forkInReserve(s.Args, attr)
	}
	switch err {
	case nil:
		s.Group.Started(pid)
		return pid, nil
	case syscall.E2BIG:
		return 0, fault.New("arguments_too_large", "command and environment are too large to execute")
	case syscall.EAGAIN:
		return 0, fault.New("too_many", "the user's limit of processes is reached")
	default:
		return 0, fault.New("internal", "could not start %s: %s", Path, err)
	}
}

// forkInReserve starts a process although the user is at the soft limit of processes (a fork bomb, say), so that there is
// a way to end them: the check at execve sees the hard limit, the process gets the soft one back at once.
func forkInReserve(args []string, attr *syscall.ProcAttr) (int, error) {
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

// shield is the agent's own oom_score_adj, nil where the agent is not exempt from the OOM killer.
var shield *os.File

// Shield must be called once by an agent that init has exempted from the OOM killer.
func Shield() error {
	f, err := os.OpenFile("/proc/self/oom_score_adj", os.O_WRONLY, 0)
	shield = f
	return err
}

// expose lets processes that start until the returned function is called be ordinary prey. A child inherits the score at
// fork, so the agent puts its own down for that moment: two writes, no window in which a child is exempt, and since root
// writes it the child cannot lower its own again.
func expose() (cover func()) {
	if shield == nil {
		return func() {}
	}
	shield.WriteAt([]byte("0"), 0)
	return func() { shield.WriteAt([]byte("-1000"), 0) }
}
