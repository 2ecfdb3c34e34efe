package seccomp

import (
	"slices"
	"syscall"
)

// QEMU returns the filter of a machine's QEMU. It is there before QEMU starts, and beside the filter that QEMU installs itself (-sandbox): that one
// lists what is forbidden, this one what is allowed. A guest that took QEMU over reaches neither io_uring, BPF, userfaultfd, keyrings, tracing,
// mounts, namespaces nor sockets other than unix sockets. QEMU must work as it is packaged, so the list has what its libraries may try, and what is
// refused gets an error that they handle. execve, by which mayfly-jail becomes QEMU, is refused by QEMU's own filter from then on.
func QEMU() Program {
	return policy{
		allowed: slices.Concat(commonCalls, architectureCalls, qemuCalls),
		// The vCPUs of KVM run in ioctl.
		rules: []rule{
			mostDevices, threadsOnly, when(syscall.SYS_SOCKET, is(0, syscall.AF_UNIX)), unixPairs,
			when(syscall.SYS_PRCTL, is(0, slices.Concat(harmlessPrctls, qemuPrctls)...)),
		},
		// Without io_uring QEMU waits with epoll.
		missing: slices.Concat(uncheckable, []uintptr{sysIoUringSetup, sysIoUringEnter, sysIoUringRegister}),
	}.assemble()
}

// qemuCalls are what QEMU and its libraries use beyond commonCalls.
var qemuCalls = []uintptr{
	// Asynchronous reads and writes of files, and timers that send signals.
	syscall.SYS_IO_SETUP, syscall.SYS_IO_SUBMIT, syscall.SYS_IO_GETEVENTS, syscall.SYS_IO_CANCEL, syscall.SYS_IO_DESTROY,
	syscall.SYS_TIMER_CREATE, syscall.SYS_TIMER_SETTIME, syscall.SYS_TIMER_GETTIME, syscall.SYS_TIMER_GETOVERRUN, syscall.SYS_TIMER_DELETE,
	// Where its memory is: a nameless file, a node of the host (libnuma tries policies as it is loaded), the shadow stacks of coroutines.
	sysMemfdCreate, syscall.SYS_MBIND, syscall.SYS_GET_MEMPOLICY, syscall.SYS_SET_MEMPOLICY, sysMapShadowStack,
	// GLib gives the threads of a pool the scheduling of their creator. Without privileges they cannot get a better one.
	sysSchedGetattr, sysSchedSetattr,
	// Its own filter. More filters only forbid more.
	sysSeccomp,
}

// qemuPrctls are what QEMU and its libraries change of their threads beyond harmlessPrctls.
var qemuPrctls = []uint32{
	22, // PR_SET_SECCOMP
	27, // PR_GET_SECUREBITS
	29, // PR_SET_TIMERSLACK, for the clock of the guest
	30, // PR_GET_TIMERSLACK
	33, // PR_MCE_KILL, to pass on memory errors on KVM
	34, // PR_MCE_KILL_GET
	38, // PR_SET_NO_NEW_PRIVS
}
