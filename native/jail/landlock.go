package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// The same numbers on every architecture.
const (
	sysLandlockCreateRuleset = 444
	sysLandlockRestrictSelf  = 446
)

// landlockScoped keeps a process from connecting to abstract unix sockets of others, which no view of the file system hides, and from
// signalling others.
const landlockScoped = 1<<0 | 1<<1

// closeAbstractSockets limits the calling thread with Landlock. Kernels before 6.12, or without Landlock, cannot do that, and some containers
// forbid it.
func closeAbstractSockets() error {
	ruleset := struct{ fs, net, scoped uint64 }{scoped: landlockScoped}
	fd, _, errno := syscall.RawSyscall(sysLandlockCreateRuleset, uintptr(unsafe.Pointer(&ruleset)), unsafe.Sizeof(ruleset), 0)
	switch errno {
	case 0:
	case syscall.ENOSYS, syscall.EOPNOTSUPP, syscall.E2BIG, syscall.EINVAL:
		return nil
	case syscall.EPERM:
		fmt.Fprintln(os.Stderr, "mayfly-jail: this container forbids Landlock: the service can connect to abstract unix sockets of the host")
		return nil
	default:
		return errno
	}
	defer syscall.Close(int(fd))
	if _, _, errno := syscall.RawSyscall(sysLandlockRestrictSelf, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
