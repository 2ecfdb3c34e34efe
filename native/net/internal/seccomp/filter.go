// Package seccomp limits the system calls of the resolver to those that an idle Go program needs and those that use sockets it was given.
package seccomp

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

// instruction is one step of a filter (struct sock_filter).
type instruction struct {
	code      uint16
	jumpTrue  uint8
	jumpFalse uint8
	value     uint32
}

// The operations of a filter.
const (
	load      = 0x20 // BPF_LD | BPF_W | BPF_ABS
	mask      = 0x54 // BPF_ALU | BPF_AND | BPF_K
	ifEqual   = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	ifAtLeast = 0x35 // BPF_JMP | BPF_JGE | BPF_K
	finish    = 0x06 // BPF_RET | BPF_K
)

// What the filter decides. A call that is not allowed fails with "operation not permitted", so that a Go version that tries another call
// goes on without it. A call of another architecture ends the process.
const (
	allow  = 0x7FFF0000
	refuse = 0x00050000 | uint32(syscall.EPERM)
	kill   = 0x80000000
)

// Offsets in struct seccomp_data. Only the lower halves of arguments are compared; the kernel ignores the upper ones for all that are.
const (
	numberOffset       = 0
	architectureOffset = 4
	argumentsOffset    = 16
)

// rule allows a system call if the argument has one of the values, after masking. A mask of 0 allows any argument.
type rule struct {
	number   uint32
	argument uint32
	mask     uint32
	values   []uint32
	// and is another condition.
	and *rule
}

const (
	executable     = 4 // PROT_EXEC
	threadFlags    = syscall.CLONE_VM | syscall.CLONE_FS | syscall.CLONE_FILES | syscall.CLONE_SIGHAND | syscall.CLONE_THREAD
	namespaceFlags = syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID |
		syscall.CLONE_NEWNET | 0x02000000 // CLONE_NEWCGROUP
	duplicateAndClose = 1030 // F_DUPFD_CLOEXEC
)

// rules are the allowed calls of a process. It can neither open a file or a socket, nor connect one it has to another address, start a
// program, map code, or signal another process.
func rules(pid int) []rule {
	any := []uint32{
		syscall.SYS_READ, syscall.SYS_WRITE, syscall.SYS_CLOSE, syscall.SYS_ACCEPT4, syscall.SYS_RECVFROM, syscall.SYS_RECVMSG,
		syscall.SYS_GETSOCKNAME, syscall.SYS_GETPEERNAME, syscall.SYS_SHUTDOWN,
		syscall.SYS_EPOLL_CREATE1, syscall.SYS_EPOLL_CTL, syscall.SYS_EPOLL_PWAIT, syscall.SYS_EVENTFD2,
		syscall.SYS_FUTEX, syscall.SYS_NANOSLEEP, syscall.SYS_CLOCK_GETTIME, syscall.SYS_CLOCK_NANOSLEEP, syscall.SYS_GETTIMEOFDAY,
		syscall.SYS_SCHED_YIELD, syscall.SYS_SCHED_GETAFFINITY, syscall.SYS_GETPID, syscall.SYS_GETTID,
		syscall.SYS_MUNMAP, syscall.SYS_MADVISE, syscall.SYS_MINCORE, syscall.SYS_BRK,
		syscall.SYS_RT_SIGACTION, syscall.SYS_RT_SIGPROCMASK, syscall.SYS_RT_SIGRETURN, syscall.SYS_SIGALTSTACK,
		syscall.SYS_RESTART_SYSCALL, syscall.SYS_EXIT, syscall.SYS_EXIT_GROUP, sysGetrandom,
	}
	var list []rule
	for _, number := range any {
		list = append(list, rule{number: number})
	}
	return append(list,
		rule{number: syscall.SYS_CLONE, argument: 0, mask: threadFlags | namespaceFlags, values: []uint32{threadFlags}},
		rule{number: syscall.SYS_MMAP, argument: 2, mask: executable, values: []uint32{0}},
		rule{number: syscall.SYS_MPROTECT, argument: 2, mask: executable, values: []uint32{0}},
		rule{number: syscall.SYS_TGKILL, argument: 0, mask: ^uint32(0), values: []uint32{uint32(pid)}},
		rule{number: syscall.SYS_FCNTL, argument: 1, mask: ^uint32(0), values: []uint32{
			duplicateAndClose, syscall.F_GETFL, syscall.F_SETFL, syscall.F_GETFD, syscall.F_SETFD,
		}},
		// Without flags: a stream socket whose connection failed could otherwise connect to any address while it sends (MSG_FASTOPEN).
		rule{number: syscall.SYS_SENDTO, argument: 3, mask: ^uint32(0), values: []uint32{0}},
		rule{number: syscall.SYS_GETSOCKOPT, argument: 1, mask: ^uint32(0), values: []uint32{syscall.SOL_SOCKET}},
		rule{number: syscall.SYS_SETSOCKOPT, argument: 1, mask: ^uint32(0), values: []uint32{syscall.IPPROTO_TCP}, and: &rule{
			argument: 2, mask: ^uint32(0), values: []uint32{syscall.TCP_NODELAY},
		}},
	)
}

func program(rules []rule) []instruction {
	code := []instruction{
		{code: load, value: architectureOffset},
		{code: ifEqual, jumpTrue: 1, value: architecture},
		{code: finish, value: kill},
		{code: load, value: numberOffset},
		{code: ifAtLeast, jumpFalse: 1, value: firstForeignNumber},
		{code: finish, value: kill},
	}
	for _, rule := range rules {
		body := rule.body()
		code = append(code, instruction{code: ifEqual, jumpFalse: uint8(len(body)), value: rule.number})
		code = append(code, body...)
	}
	return append(code, instruction{code: finish, value: refuse})
}

// body decides about a call whose number matched. It never continues behind itself.
func (r *rule) body() []instruction {
	if r.mask == 0 {
		return []instruction{{code: finish, value: allow}}
	}
	passed := []instruction{{code: finish, value: allow}}
	if r.and != nil {
		passed = r.and.body()
	}
	code := []instruction{{code: load, value: argumentsOffset + 8*r.argument}, {code: mask, value: r.mask}}
	for index, value := range r.values {
		// Over the remaining comparisons and the refusal.
		code = append(code, instruction{code: ifEqual, jumpTrue: uint8(len(r.values) - index), value: value})
	}
	code = append(code, instruction{code: finish, value: refuse})
	return append(code, passed...)
}

const (
	setNoNewPrivs  = 38 // PR_SET_NO_NEW_PRIVS
	setModeFilter  = 1
	onAllThreads   = 1 // SECCOMP_FILTER_FLAG_TSYNC
	architectureLE = 0xC0000000
)

// Confine puts the filter into force for all threads of this process, for good.
func Confine() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	code := program(rules(syscall.Getpid()))
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("no new privileges: %w", errno)
	}
	filter := struct {
		length uint16
		code   *instruction
	}{uint16(len(code)), &code[0]}
	other, _, errno := syscall.RawSyscall(sysSeccomp, setModeFilter, onAllThreads, uintptr(unsafe.Pointer(&filter)))
	runtime.KeepAlive(code)
	if errno != 0 || other != 0 {
		return fmt.Errorf("filter for system calls: thread %d: %w", other, errno)
	}
	return nil
}
