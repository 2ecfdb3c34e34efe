// Package seccomp has the filters of system calls under which Mayfly's processes run: one file for each of them, and what they have in common.
package seccomp

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

const (
	prSetSeccomp      = 22
	prSetNoNewPrivs   = 38
	seccompModeFilter = 2 // of prctl
	setModeFilter     = 1 // of seccomp
	onAllThreads      = 1 // SECCOMP_FILTER_FLAG_TSYNC
)

// InstallOnThread puts the filter into force for the calling thread, for good; exec keeps it. The thread must not be able to gain privileges.
func (p Program) InstallOnThread() error {
	header := syscall.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSeccomp, seccompModeFilter, uintptr(unsafe.Pointer(&header)), 0, 0, 0)
	runtime.KeepAlive(p)
	if errno != 0 {
		return errno
	}
	return nil
}

// InstallOnProcess puts the filter into force for all threads of this process, for good, after it has given up gaining privileges.
func (p Program) InstallOnProcess() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("no new privileges: %w", errno)
	}
	header := syscall.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	other, _, errno := syscall.RawSyscall(sysSeccomp, setModeFilter, onAllThreads, uintptr(unsafe.Pointer(&header)))
	runtime.KeepAlive(p)
	if errno != 0 || other != 0 {
		return fmt.Errorf("filter for system calls: thread %d: %w", other, errno)
	}
	return nil
}
