package seccomp

import "syscall"

// Resolver returns the filter of the name resolver with this process id: what an idle Go program needs, and what uses sockets that it was given.
// It can neither open a file or a socket, nor connect one it has to another address, start a program, map code, or signal another process.
func Resolver(pid int) Program {
	return policy{
		allowed: []uintptr{
			syscall.SYS_READ, syscall.SYS_WRITE, syscall.SYS_CLOSE, syscall.SYS_ACCEPT4, syscall.SYS_RECVFROM, syscall.SYS_RECVMSG,
			syscall.SYS_GETSOCKNAME, syscall.SYS_GETPEERNAME, syscall.SYS_SHUTDOWN,
			syscall.SYS_EPOLL_CREATE1, syscall.SYS_EPOLL_CTL, syscall.SYS_EPOLL_PWAIT, syscall.SYS_EVENTFD2,
			syscall.SYS_FUTEX, syscall.SYS_NANOSLEEP, syscall.SYS_CLOCK_GETTIME, syscall.SYS_CLOCK_NANOSLEEP, syscall.SYS_GETTIMEOFDAY,
			syscall.SYS_SCHED_YIELD, syscall.SYS_SCHED_GETAFFINITY, syscall.SYS_GETPID, syscall.SYS_GETTID,
			syscall.SYS_MUNMAP, syscall.SYS_MADVISE, syscall.SYS_MINCORE, syscall.SYS_BRK,
			syscall.SYS_RT_SIGACTION, syscall.SYS_RT_SIGPROCMASK, syscall.SYS_RT_SIGRETURN, syscall.SYS_SIGALTSTACK,
			syscall.SYS_RESTART_SYSCALL, syscall.SYS_EXIT, syscall.SYS_EXIT_GROUP, sysGetrandom,
		},
		rules: []rule{
			when(syscall.SYS_CLONE, masked(0, threadFlags|namespaceFlags, threadFlags)),
			when(syscall.SYS_MMAP, masked(2, syscall.PROT_EXEC, 0)),
			when(syscall.SYS_MPROTECT, masked(2, syscall.PROT_EXEC, 0)),
			when(syscall.SYS_TGKILL, is(0, uint32(pid))),
			when(syscall.SYS_FCNTL, is(1, duplicateAndClose, syscall.F_GETFL, syscall.F_SETFL, syscall.F_GETFD, syscall.F_SETFD)),
			// Without flags: a stream socket whose connection failed could otherwise connect to any address while it sends (MSG_FASTOPEN).
			when(syscall.SYS_SENDTO, is(3, 0)),
			when(syscall.SYS_GETSOCKOPT, is(1, syscall.SOL_SOCKET)),
			when(syscall.SYS_SETSOCKOPT, is(1, syscall.IPPROTO_TCP), is(2, syscall.TCP_NODELAY)),
		},
		missing: uncheckable,
	}.assemble()
}

const (
	threadFlags       = syscall.CLONE_VM | syscall.CLONE_FS | syscall.CLONE_FILES | syscall.CLONE_SIGHAND | syscall.CLONE_THREAD
	duplicateAndClose = 1030 // F_DUPFD_CLOEXEC
)
