// Package mounts makes the file systems of a bare machine.
package mounts

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Mount is one file system and where it goes.
type Mount struct {
	Source, Target, Type string
	Flags                uintptr
	Options              string
}

// Do makes the mount point and mounts; a target that is mounted already is fine.
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

// Present tells whether something other than its parent's file system is mounted on target.
func Present(target string) bool {
	var here, above syscall.Stat_t
	return syscall.Stat(target, &here) == nil && syscall.Stat(target+"/..", &above) == nil && here.Dev != above.Dev
}

const quiet = syscall.MS_NOSUID | syscall.MS_NOEXEC | syscall.MS_NODEV

// The kernel's own file systems.
var (
	Devices = Mount{"devtmpfs", "/dev", "devtmpfs", syscall.MS_NOSUID, "mode=0755"}
	Proc    = Mount{"proc", "/proc", "proc", quiet, ""}
	Sys     = Mount{"sysfs", "/sys", "sysfs", quiet, ""}
)
