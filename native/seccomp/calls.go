package seccomp

import "syscall"

// commonCalls are what a program with threads, files and sockets uses, and harmless relatives of that. Both architectures have them under these names.
var commonCalls = []uintptr{
	// Files and folders.
	syscall.SYS_READ, syscall.SYS_WRITE, syscall.SYS_READV, syscall.SYS_WRITEV, syscall.SYS_PREAD64, syscall.SYS_PWRITE64,
	syscall.SYS_PREADV, syscall.SYS_PWRITEV, sysPreadv2, sysPwritev2, syscall.SYS_LSEEK, syscall.SYS_OPENAT, sysOpenat2,
	syscall.SYS_CLOSE, sysCloseRange, syscall.SYS_FSTAT, sysNewfstatat, sysStatx, syscall.SYS_STATFS, syscall.SYS_FSTATFS,
	syscall.SYS_FACCESSAT, sysFaccessat2, syscall.SYS_READLINKAT, syscall.SYS_GETDENTS64, syscall.SYS_GETCWD, syscall.SYS_CHDIR,
	syscall.SYS_FCHDIR, syscall.SYS_FCNTL, syscall.SYS_FLOCK, syscall.SYS_DUP, syscall.SYS_DUP3, syscall.SYS_PIPE2, syscall.SYS_FSYNC,
	syscall.SYS_FDATASYNC, syscall.SYS_SYNC_FILE_RANGE, syscall.SYS_TRUNCATE, syscall.SYS_FTRUNCATE, syscall.SYS_FALLOCATE,
	syscall.SYS_FADVISE64, syscall.SYS_MKDIRAT, syscall.SYS_UNLINKAT, syscall.SYS_RENAMEAT, sysRenameat2, syscall.SYS_LINKAT,
	syscall.SYS_SYMLINKAT, syscall.SYS_FCHMOD, syscall.SYS_FCHMODAT, sysFchmodat2, syscall.SYS_FCHOWN, syscall.SYS_FCHOWNAT, syscall.SYS_UTIMENSAT,
	syscall.SYS_UMASK, sysCopyFileRange, syscall.SYS_INOTIFY_INIT1, syscall.SYS_INOTIFY_ADD_WATCH, syscall.SYS_INOTIFY_RM_WATCH,
	// Memory.
	syscall.SYS_MMAP, syscall.SYS_MUNMAP, syscall.SYS_MPROTECT, syscall.SYS_MREMAP, syscall.SYS_MADVISE, syscall.SYS_BRK,
	syscall.SYS_MSYNC, syscall.SYS_MINCORE, sysMembarrier, sysPkeyMprotect, sysPkeyAlloc, sysPkeyFree, sysMseal,
	// The process itself and its threads. mayfly-jail needs execve to become the program. Signals reach no other process: the service
	// is alone in its PID namespace, and every QEMU has a user of its own.
	syscall.SYS_EXECVE, syscall.SYS_EXIT, syscall.SYS_EXIT_GROUP, syscall.SYS_FUTEX, syscall.SYS_SET_ROBUST_LIST,
	syscall.SYS_GET_ROBUST_LIST, syscall.SYS_SET_TID_ADDRESS, sysRseq, syscall.SYS_RESTART_SYSCALL, syscall.SYS_KILL,
	syscall.SYS_TKILL, syscall.SYS_TGKILL, syscall.SYS_RT_SIGACTION, syscall.SYS_RT_SIGPROCMASK, syscall.SYS_RT_SIGRETURN,
	syscall.SYS_RT_SIGPENDING, syscall.SYS_RT_SIGTIMEDWAIT, syscall.SYS_RT_SIGSUSPEND, syscall.SYS_SIGALTSTACK, syscall.SYS_GETPID,
	syscall.SYS_GETPPID, syscall.SYS_GETTID, syscall.SYS_GETUID, syscall.SYS_GETEUID, syscall.SYS_GETGID, syscall.SYS_GETEGID,
	syscall.SYS_GETRESUID, syscall.SYS_GETRESGID, syscall.SYS_GETGROUPS, syscall.SYS_GETPGID, syscall.SYS_GETSID, syscall.SYS_CAPGET,
	syscall.SYS_PRLIMIT64, syscall.SYS_GETRLIMIT, syscall.SYS_GETRUSAGE, syscall.SYS_GETPRIORITY, syscall.SYS_SCHED_YIELD,
	syscall.SYS_SCHED_GETAFFINITY, syscall.SYS_SCHED_GETPARAM, syscall.SYS_SCHED_GETSCHEDULER, syscall.SYS_SCHED_GET_PRIORITY_MAX,
	syscall.SYS_SCHED_GET_PRIORITY_MIN, sysGetcpu,
	// Time.
	syscall.SYS_NANOSLEEP, syscall.SYS_CLOCK_NANOSLEEP, syscall.SYS_CLOCK_GETTIME, syscall.SYS_CLOCK_GETRES, syscall.SYS_GETTIMEOFDAY,
	syscall.SYS_TIMES, syscall.SYS_GETITIMER, syscall.SYS_SETITIMER, syscall.SYS_TIMERFD_CREATE, syscall.SYS_TIMERFD_SETTIME,
	syscall.SYS_TIMERFD_GETTIME,
	// Waiting.
	syscall.SYS_EPOLL_CREATE1, syscall.SYS_EPOLL_CTL, syscall.SYS_EPOLL_PWAIT, sysEpollPwait2, syscall.SYS_EVENTFD2, syscall.SYS_PPOLL,
	syscall.SYS_PSELECT6, syscall.SYS_SIGNALFD4,
	// Sockets; which kinds, the rules of each filter say.
	syscall.SYS_BIND, syscall.SYS_LISTEN, syscall.SYS_ACCEPT, syscall.SYS_ACCEPT4, syscall.SYS_CONNECT,
	syscall.SYS_GETSOCKNAME, syscall.SYS_GETPEERNAME, syscall.SYS_SENDTO, syscall.SYS_RECVFROM, syscall.SYS_SENDMSG,
	syscall.SYS_RECVMSG, sysSendmmsg, syscall.SYS_RECVMMSG, syscall.SYS_SETSOCKOPT, syscall.SYS_GETSOCKOPT, syscall.SYS_SHUTDOWN,
	// The system.
	sysGetrandom, syscall.SYS_UNAME, syscall.SYS_SYSINFO,
}

// uncheckable are calls whose flags are in memory, where a filter cannot see them.
var uncheckable = []uintptr{sysClone3}

// Rules that several filters have.
var (
	// threadsOnly allows clone for a thread that stays in all namespaces.
	threadsOnly = when(syscall.SYS_CLONE, masked(0, namespaceFlags|syscall.CLONE_THREAD, syscall.CLONE_THREAD))
	unixPairs   = when(syscall.SYS_SOCKETPAIR, is(0, syscall.AF_UNIX))
	// mostDevices allows ioctl for everything but changes of a terminal.
	mostDevices = when(syscall.SYS_IOCTL, isNot(1, terminalChanges...))
)

const namespaceFlags = syscall.CLONE_NEWNS | cloneNewcgroup | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUSER |
	syscall.CLONE_NEWPID | syscall.CLONE_NEWNET

// terminalChanges put characters into the input of a terminal, or change how it treats them. Node and QEMU try to restore a terminal's settings
// when they end, and accept that this is refused.
var terminalChanges = []uint32{
	tiocsti,
	tioclinux,
	syscall.TCSETS, 0x5403 /* TCSETSW */, 0x5404, /* TCSETSF */
	0x402c542b /* TCSETS2 */, 0x402c542c /* TCSETSW2 */, 0x402c542d, /* TCSETSF2 */
	0x5406 /* TCSETA */, 0x5407 /* TCSETAW */, 0x5408, /* TCSETAF */
	0x5423 /* TIOCSETD */, 0x540e /* TIOCSCTTY */, 0x541d /* TIOCCONS */, 0x5414, /* TIOCSWINSZ */
}

const (
	tiocsti   = 0x5412
	tioclinux = 0x541c

	cloneNewcgroup = 0x02000000
)

// harmlessPrctls name threads and memory, or only read.
var harmlessPrctls = []uint32{
	3,          // PR_GET_DUMPABLE
	15,         // PR_SET_NAME
	16,         // PR_GET_NAME
	21,         // PR_GET_SECCOMP
	23,         // PR_CAPBSET_READ
	39,         // PR_GET_NO_NEW_PRIVS
	0x53564d41, // PR_SET_VMA
}

// Numbers that are the same on every architecture.
const (
	sysIoUringSetup    = 425
	sysIoUringEnter    = 426
	sysIoUringRegister = 427
	sysClone3          = 435
	sysCloseRange      = 436
	sysOpenat2         = 437
	sysFaccessat2      = 439
	sysEpollPwait2     = 441
	sysFchmodat2       = 452
	sysMapShadowStack  = 453
	sysMseal           = 462

	// newestCall is the last one in the tables of this package (Linux 6.10).
	newestCall = sysMseal
)
