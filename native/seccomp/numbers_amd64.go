package seccomp

import "syscall"

// Numbers that the syscall package does not have on every architecture.
const (
	sysNewfstatat    = 262
	sysPreadv2       = 327
	sysPwritev2      = 328
	sysStatx         = 332
	sysRenameat2     = 316
	sysCopyFileRange = 326
	sysMembarrier    = 324
	sysPkeyMprotect  = 329
	sysPkeyAlloc     = 330
	sysPkeyFree      = 331
	sysRseq          = 334
	sysGetcpu        = 309
	sysSendmmsg      = 307
	sysGetrandom     = 318
	sysMemfdCreate   = 319
	sysSchedSetattr  = 314
	sysSchedGetattr  = 315
	sysSeccomp       = 317
)

// auditArch is how the kernel names this architecture to a filter.
const auditArch = 0xc000003e

// architectureCalls are older forms of calls that arm64 does not have.
var architectureCalls = []uintptr{
	syscall.SYS_OPEN, syscall.SYS_STAT, syscall.SYS_LSTAT, syscall.SYS_ACCESS, syscall.SYS_READLINK, syscall.SYS_GETDENTS,
	syscall.SYS_DUP2, syscall.SYS_PIPE, syscall.SYS_MKDIR, syscall.SYS_RMDIR, syscall.SYS_UNLINK, syscall.SYS_RENAME, syscall.SYS_LINK,
	syscall.SYS_SYMLINK, syscall.SYS_CHMOD, syscall.SYS_CHOWN, syscall.SYS_LCHOWN, syscall.SYS_UTIMES, syscall.SYS_FUTIMESAT,
	syscall.SYS_POLL, syscall.SYS_SELECT, syscall.SYS_EPOLL_CREATE, syscall.SYS_EPOLL_WAIT, syscall.SYS_EVENTFD,
	syscall.SYS_INOTIFY_INIT, syscall.SYS_SIGNALFD, syscall.SYS_GETPGRP, syscall.SYS_TIME, syscall.SYS_ARCH_PRCTL, syscall.SYS_ALARM,
	syscall.SYS_PAUSE,
}
