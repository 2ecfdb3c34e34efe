package initsys

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

const (
	rlimitNPROC = 6
	unlimited   = ^uint64(0)
)

// rlimits are inherited by every process of the machine.
var rlimits = []struct {
	resource   int
	soft, hard uint64
}{
	{rlimitNPROC, 512, 1024},
	{syscall.RLIMIT_NOFILE, 4096, 8192},
	{syscall.RLIMIT_FSIZE, 4 << 30, 8 << 30},
	{syscall.RLIMIT_CORE, 0, unlimited},
}

// setRlimits sets the limits of init. The process limit does not apply to root.
func setRlimits() error {
	var failures []error
	for _, l := range rlimits {
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: l.soft, Max: l.hard}); err != nil {
			failures = append(failures, fmt.Errorf("rlimit %d: %w", l.resource, err))
		}
	}
	syscall.Umask(0o022)
	return errors.Join(failures...)
}

const prSetNoNewPrivs = 38

// restrictPrivileges sets no_new_privs, so that no process can gain privileges by executing a file, and exempts init and agent from the
// OOM killer. It affects the calling thread, from which the agent is started.
func restrictPrivileges() error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0)
	var failure error
	if errno != 0 {
		failure = os.NewSyscallError("no_new_privs", errno)
	}
	return errors.Join(failure, os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0))
}
