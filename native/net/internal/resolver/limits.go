package resolver

import (
	"fmt"
	"runtime/debug"
	"syscall"
)

const (
	rlimitProcesses = 6 // RLIMIT_NPROC
	// maxThreads is far above what Go starts for a program that waits in the poller.
	maxThreads = 512
	// maxMemoryBytes is the private memory of the process. 1,024 remembered addresses of 1,000 machines take about a fifth of it.
	maxMemoryBytes = 1 << 30

	prSetParentDeathSignal = 1 // PR_SET_PDEATHSIG
)

// Limit bounds the memory and the threads of this process, and ends it with the broker. Its user must belong to it alone.
func Limit() error {
	for resource, most := range map[int]uint64{rlimitProcesses: maxThreads, syscall.RLIMIT_DATA: maxMemoryBytes} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit %d: %w", resource, err)
		}
	}
	// Go collects garbage more often before it reaches the limit, where it would exit.
	debug.SetMemoryLimit(maxMemoryBytes / 4 * 3)
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetParentDeathSignal, uintptr(syscall.SIGKILL), 0)
	if errno != 0 {
		return fmt.Errorf("end with the broker: %w", errno)
	}
	return nil
}
