package main

import (
	"errors"
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

// closeAbstractSockets limits the calling thread with Landlock. Kernels before 6.12, or without Landlock, cannot do that.
func closeAbstractSockets() error {
	ruleset := struct{ fs, net, scoped uint64 }{scoped: landlockScoped}
	fd, _, errno := syscall.RawSyscall(sysLandlockCreateRuleset, uintptr(unsafe.Pointer(&ruleset)), unsafe.Sizeof(ruleset), 0)
	if errno != 0 {
		if errors.Is(errno, syscall.ENOSYS) || errors.Is(errno, syscall.EOPNOTSUPP) || errors.Is(errno, syscall.E2BIG) || errors.Is(errno, syscall.EINVAL) {
			return nil
		}
		return errno
	}
	defer syscall.Close(int(fd))
	if _, _, errno := syscall.RawSyscall(sysLandlockRestrictSelf, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
