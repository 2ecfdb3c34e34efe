package main

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"unsafe"
)

func fileAttempts(given targets) []attempt {
	var attempts []attempt
	for _, what := range sortedKeys(given.Read) {
		attempts = append(attempts, attempt{"read " + what, func() error { return read(given.Read[what]) }})
	}
	for _, what := range sortedKeys(given.Write) {
		attempts = append(attempts, attempt{"write " + what, func() error { return write(given.Write[what]) }})
	}
	for what, path := range map[string]string{
		"read the password hashes":             "/etc/shadow",
		"read root's home":                     "/root",
		"read the host's process 1":            "/proc/1/root/etc/shadow",
		"read the kernel's memory":             "/proc/kcore",
		"list cgroups":                         "/sys/fs/cgroup",
		"list network namespaces":              "/run/netns",
		"read the machines' state folder":      "/run/mayfly",
		"read another service's data folder":   "/var/lib/mayfly/machines",
		"read the host's system settings":      "/proc/sys/kernel/core_pattern",
		"read the addresses of kernel symbols": "/proc/kallsyms",
	} {
		attempts = append(attempts, attempt{what, func() error { return read(path) }})
	}
	for what, path := range map[string]string{
		"change the core handler":         "/proc/sys/kernel/core_pattern",
		"trigger a reboot by sysrq":       "/proc/sysrq-trigger",
		"change its own OOM score":        "/proc/self/oom_score_adj",
		"map its user id to root's":       "/proc/self/uid_map",
		"join another cgroup":             "/sys/fs/cgroup/cgroup.procs",
		"join another memory cgroup":      "/sys/fs/cgroup/memory/cgroup.procs",
		"replace the dynamic loader":      "/etc/ld.so.cache",
		"add a user":                      "/etc/passwd",
		"write to the root folder":        "/new",
		"write to the system's libraries": "/usr/lib/new",
	} {
		attempts = append(attempts, attempt{what, func() error { return write(path) }})
	}
	slices.SortFunc(attempts, func(a, b attempt) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return append(attempts,
		attempt{"open a file by its handle", func() error { return call(sysOpenByHandleAt, 0, 0, 0) }},
		attempt{"make a device node", func() error { return syscall.Mknod("/tmp/disk", syscall.S_IFBLK|0o600, 254<<8) }},
		attempt{"change its root", func() error { return syscall.Chroot("/tmp") }},
		attempt{"leave its root", func() error { return syscall.PivotRoot("/tmp", "/tmp") }},
		attempt{"run a program from /tmp", runFromTmp},
	)
}

func deviceAttempts() []attempt {
	var attempts []attempt
	for _, device := range []string{"kvm", "net/tun", "mem", "kmsg", "vda", "sda", "nvme0n1", "fuse", "loop-control", "vhost-net", "vhost-vsock", "ptmx", "tty", "uinput", "mapper/control"} {
		attempts = append(attempts, attempt{"open /dev/" + device, func() error { return read("/dev/" + device) }})
	}
	return attempts
}

func allowedAttempts(given targets) []attempt {
	return []attempt{
		{"write to its part of the data folder", func() error { return write(filepath.Join(given.Allowed.Folder, "probe")) }},
		{"write to its own /tmp", func() error { return write("/tmp/probe") }},
		{"connect to the socket of its group", func() error { return connectUnix(given.Allowed.Socket) }},
		{"listen on a TCP port", func() error { return listen(0) }},
		{"read the memory that is left", func() error { return read("/proc/meminfo") }},
		{"get random bytes", func() error { return read("/dev/urandom") }},
		{"start a thread", func() error {
			done := make(chan bool)
			go func() { done <- true }()
			<-done
			return nil
		}},
	}
}

// read opens a file or folder and reads from it.
func read(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		_, err = file.ReadDir(1)
		return err
	}
	_, err = file.Read(make([]byte, 1))
	return err
}

// write opens a file for writing and writes nothing that would change it. A file that can be created is removed.
func write(path string) error {
	_, before := os.Lstat(path)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if before != nil {
		os.Remove(path)
	}
	return file.Close()
}

func runFromTmp() error {
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	if err := os.WriteFile("/tmp/program", own, 0o700); err != nil {
		return err
	}
	defer os.Remove("/tmp/program")
	// Success would replace this program, and the test would miss the other results.
	return syscall.Exec("/tmp/program", []string{"/tmp/program", "identity"}, nil)
}

func sortedKeys(given map[string]string) []string {
	var keys []string
	for key := range given {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// text returns a NUL-terminated string for a system call.
func text(s string) uintptr {
	bytes, _ := syscall.BytePtrFromString(s)
	kept = append(kept, bytes)
	return uintptr(unsafe.Pointer(bytes))
}

// kept holds what pointers in system calls refer to.
var kept []*byte
