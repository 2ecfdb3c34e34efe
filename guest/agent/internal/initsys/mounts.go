package initsys

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"mayfly/agent/internal/mounts"
)

const private = syscall.MS_NOSUID | syscall.MS_NODEV

// mountAll mounts the file systems that are not mounted yet, in order.
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
	// The /dev/ptmx node of devtmpfs uses the devpts that is mounted next to it.
	if err := os.Chmod("/dev/ptmx", 0o666); err != nil {
		failures = append(failures, os.Symlink("pts/ptmx", "/dev/ptmx"))
	}
	return errors.Join(failures...)
}

// identityDir holds the files that an identity overwrites. It is in memory, because they are written before the first command of a
// sandbox can run, and the disk's journal costs ten times as much under emulation.
const identityDir = "/run/names"

// mountIdentityFiles bind-mounts copies of the files that identify the machine over those of the image.
func mountIdentityFiles() error {
	if err := os.MkdirAll(identityDir, 0o755); err != nil {
		return err
	}
	var failures []error
	for _, name := range []string{"/etc/hostname", "/etc/machine-id", "/etc/hosts"} {
		content, err := os.ReadFile(name)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		copied := filepath.Join(identityDir, filepath.Base(name))
		if err := os.WriteFile(copied, content, 0o644); err != nil {
			failures = append(failures, err)
			continue
		}
		failures = append(failures, os.NewSyscallError("mount "+name, syscall.Mount(copied, name, "", syscall.MS_BIND, "")))
	}
	return errors.Join(failures...)
}
