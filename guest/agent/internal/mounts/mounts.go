// Package mounts mounts file systems.
package mounts

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Mount is a file system and its mount point.
type Mount struct {
	Source, Target, Type string
	Flags                uintptr
	Options              string
}

// Do creates the mount point and mounts the file system. It does nothing if it is already mounted.
func (m Mount) Do() error {
	if err := os.MkdirAll(m.Target, 0o755); err != nil {
		return err
	}
	err := syscall.Mount(m.Source, m.Target, m.Type, m.Flags, m.Options)
	if err != nil && !errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("mount %s on %s: %w", m.Type, m.Target, err)
	}
	return nil
}

// Present reports whether a file system is mounted on target.
func Present(target string) bool {
	var here, above syscall.Stat_t
	return syscall.Stat(target, &here) == nil && syscall.Stat(target+"/..", &above) == nil && here.Dev != above.Dev
}

const restricted = syscall.MS_NOSUID | syscall.MS_NOEXEC | syscall.MS_NODEV

// The kernel file systems.
var (
	Devices = Mount{"devtmpfs", "/dev", "devtmpfs", syscall.MS_NOSUID, "mode=0755"}
	Proc    = Mount{"proc", "/proc", "proc", restricted, ""}
	Sys     = Mount{"sysfs", "/sys", "sysfs", restricted, ""}
)
