package main

import (
	"fmt"
	"slices"
	"syscall"
	"unsafe"
)

func processAttempts(given targets) []attempt {
	var attempts []attempt
	var names []string
	for name := range given.Processes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		pid := given.Processes[name]
		attempts = append(attempts,
			attempt{"signal " + name, func() error { return syscall.Kill(pid, 0) }},
			attempt{"continue " + name, func() error { return syscall.Kill(pid, syscall.SIGCONT) }},
			attempt{"trace " + name, func() error { return call(syscall.SYS_PTRACE, 16, uintptr(pid)) }},
			attempt{"open a descriptor of " + name, func() error { return call(sysPidfdOpen, uintptr(pid)) }},
			attempt{"read the memory of " + name, func() error { return readMemory(pid) }},
			attempt{"see " + name + " in /proc", func() error { return read(fmt.Sprintf("/proc/%d/cmdline", pid)) }},
			attempt{"change the limits of " + name, func() error { return call(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_NOFILE) }},
			attempt{"change the CPUs of " + name, func() error {
				return call(syscall.SYS_SCHED_SETAFFINITY, uintptr(pid), 8, uintptr(unsafe.Pointer(&[1]uint64{1})))
			}},
		)
	}
	return append(attempts,
		attempt{"let others trace it", func() error { return call(syscall.SYS_PRCTL, 0x59616d61, ^uintptr(0)) }},
		attempt{"become traced", func() error { return call(syscall.SYS_PTRACE, 0) }},
		attempt{"start a process (fork)", func() error { return fork(0) }},
		attempt{"start a process (clone3)", func() error { return call(435, 0, 0) }},
	)
}

func privilegeAttempts() []attempt {
	header := struct {
		version uint32
		pid     int32
	}{version: 0x20080522}
	everything := [2][3]uint32{{^uint32(0), ^uint32(0), 0}, {^uint32(0), ^uint32(0), 0}}
	attempts := []attempt{
		{"become root", func() error { return call(syscall.SYS_SETRESUID, 0, 0, 0) }},
		{"become another user", func() error { return call(syscall.SYS_SETRESUID, 1000, 1000, 1000) }},
		{"join root's group", func() error { return call(syscall.SYS_SETRESGID, 0, 0, 0) }},
		{"join other groups", func() error { return call(syscall.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&[1]uint32{0}))) }},
		{"set capabilities", func() error {
			return call(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&everything)))
		}},
		{"raise an ambient capability", func() error { return call(syscall.SYS_PRCTL, 47, 2, 21) }},
		{"change its security bits", func() error { return call(syscall.SYS_PRCTL, 28, 0) }},
		{"replace its filter", func() error { return call(syscall.SYS_PRCTL, 22, 2, 0) }},
		{"change its personality", func() error { return call(syscall.SYS_PERSONALITY, 0x0040000) }},
		{"mount a file system", func() error { return syscall.Mount("none", "/tmp", "tmpfs", 0, "") }},
		{"bind a folder", func() error { return syscall.Mount("/dev", "/tmp", "", syscall.MS_BIND, "") }},
		{"make its view writable", func() error { return syscall.Mount("", "/", "", syscall.MS_REMOUNT, "") }},
		{"unmount /proc", func() error { return syscall.Unmount("/proc", 0) }},
		{"mount a file system (new calls)", func() error { return call(430, text("tmpfs"), 0) }},
		{"copy a mount", func() error { return call(428, ^uintptr(99), text("/"), 1) }},
		{"change a mount", func() error { return call(442, ^uintptr(99), text("/"), 0, 0, 0) }},
		{"enter a namespace", func() error { return call(sysSetns, 0, 0) }},
	}
	for _, namespace := range []struct {
		name string
		flag uintptr
	}{
		{"a user", syscall.CLONE_NEWUSER}, {"a mount", syscall.CLONE_NEWNS}, {"a network", syscall.CLONE_NEWNET}, {"a PID", syscall.CLONE_NEWPID},
		{"an IPC", syscall.CLONE_NEWIPC}, {"a UTS", syscall.CLONE_NEWUTS}, {"a cgroup", 0x02000000}, {"a time", 0x80},
	} {
		attempts = append(attempts,
			attempt{"make " + namespace.name + " namespace", func() error { return call(syscall.SYS_UNSHARE, namespace.flag) }},
			attempt{"start a process in " + namespace.name + " namespace", func() error { return fork(namespace.flag) }},
		)
	}
	return attempts
}

func kernelAttempts() []attempt {
	var buffer [256]byte
	at := uintptr(unsafe.Pointer(&buffer))
	return []attempt{
		{"load a BPF program", func() error { return call(sysBpf, 5, at, 120) }},
		{"make a BPF map", func() error { return call(sysBpf, 0, at, 120) }},
		{"count performance events", func() error { return call(sysPerfEventOpen, at, 0, ^uintptr(0), ^uintptr(0), 0) }},
		{"handle page faults", func() error { return call(sysUserfaultfd, 1) }},
		{"use io_uring", func() error { return call(425, 8, at) }},
		{"read a keyring", func() error { return call(syscall.SYS_KEYCTL, 0, ^uintptr(2), 1) }},
		{"add a key", func() error { return call(syscall.SYS_ADD_KEY, text("user"), text("a"), at, 1, ^uintptr(2)) }},
		{"request a key", func() error { return call(syscall.SYS_REQUEST_KEY, text("user"), text("a"), 0, ^uintptr(2)) }},
		{"load a kernel module", func() error { return call(syscall.SYS_INIT_MODULE, at, 1, text("")) }},
		{"load a kernel", func() error { return call(syscall.SYS_KEXEC_LOAD, 0, 0, 0, 0) }},
		{"reboot", func() error { return call(syscall.SYS_REBOOT, 0xfee1dead, 672274793, 0x89abcdef) }},
		{"add swap", func() error { return call(syscall.SYS_SWAPON, text("/tmp/x"), 0) }},
		{"read the kernel's log", func() error { return call(syscall.SYS_SYSLOG, 3, at, 1) }},
		{"set the clock", func() error { return call(syscall.SYS_CLOCK_SETTIME, 0, at) }},
		{"adjust the clock", func() error { return call(syscall.SYS_ADJTIMEX, at) }},
		{"set the host name", func() error { return syscall.Sethostname([]byte("probe")) }},
		{"record all processes", func() error { return call(syscall.SYS_ACCT, 0) }},
		{"change disk quotas", func() error { return call(syscall.SYS_QUOTACTL, 0, 0, 0, 0) }},
		{"watch the whole file system", func() error { return call(sysFanotifyInit, 0, 0) }},
		{"make memory that others can run", func() error { return call(sysMemfdCreate, text("a"), 0) }},
		{"attach shared memory", func() error { return call(syscall.SYS_SHMGET, 0, 4096, 0o1600) }},
		{"type into the terminal", func() error { return call(syscall.SYS_IOCTL, 0, syscall.TIOCSTI, at) }},
	}
}

// fork starts a process that ends at once.
func fork(flags uintptr) error {
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, flags|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return nil
}

// readMemory reads from the stack of another process, or fails.
func readMemory(pid int) error {
	var buffer [8]byte
	local := [2]uintptr{uintptr(unsafe.Pointer(&buffer)), 8}
	remote := [2]uintptr{uintptr(unsafe.Pointer(&buffer)), 8}
	return call(sysProcessVMReadv, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
}
