package initsys

import (
	"errors"
	"os"
	"syscall"

	"mayfly/agent/internal/mounts"
)

const private = syscall.MS_NOSUID | syscall.MS_NODEV

// mountAll mounts what is not there yet, in order.
func mountAll() error {
	var failures []error
	for _, m := range []mounts.Mount{
		mounts.Devices, mounts.Proc, mounts.Sys,
		{Source: "run", Target: "/run", Type: "tmpfs", Flags: private, Options: "mode=0755,size=64m"},
		{Source: "devpts", Target: "/dev/pts", Type: "devpts", Flags: syscall.MS_NOSUID | syscall.MS_NOEXEC, Options: "newinstance,ptmxmode=0666,mode=620,gid=5"},
		{Source: "shm", Target: "/dev/shm", Type: "tmpfs", Flags: private, Options: "mode=1777"},
		{Source: "cgroup2", Target: "/sys/fs/cgroup", Type: "cgroup2", Flags: private | syscall.MS_NOEXEC},
	} {
		if !mounts.Present(m.Target) {
			failures = append(failures, m.Do())
		}
	}
	for name, target := range map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, name); err != nil && !os.IsExist(err) {
			failures = append(failures, err)
		}
	}
	// The kernel's own /dev/ptmx node finds the devpts beside it.
	if err := os.Chmod("/dev/ptmx", 0o666); err != nil {
		failures = append(failures, os.Symlink("pts/ptmx", "/dev/ptmx"))
	}
	return errors.Join(failures...)
}
