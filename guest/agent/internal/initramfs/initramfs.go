// Package initramfs is the first program of the machine: it mounts the disk and executes init on it.
package initramfs

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"mayfly/agent/internal/mounts"
)

const (
	moduleOrder = "/modules/order"
	disk        = "/dev/vda"
	diskTimeout = 20 * time.Second
	newRoot     = "/newroot"
	agentDir    = newRoot + "/run/mayfly"
	agentPath   = "/run/mayfly/agent"
)

// Present reports whether this program runs in the initramfs.
func Present() bool {
	_, err := os.Stat(moduleOrder)
	return err == nil
}

// Run returns only if the machine cannot start.
func Run() error {
	for _, m := range []mounts.Mount{mounts.Devices, mounts.Proc, mounts.Sys} {
		if err := m.Do(); err != nil {
			return err
		}
	}
	if err := loadModules(); err != nil {
		return err
	}
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return err
	}
	if hasParameter(string(line), "mayfly.nodisk=1") {
		err = makeRoot()
	} else {
		err = mountDisk()
	}
	if err != nil {
		return err
	}
	if err := installAgent(); err != nil {
		return err
	}
	if err := switchRoot(); err != nil {
		return err
	}
	return fmt.Errorf("exec %s: %w", agentPath, syscall.Exec(agentPath, []string{agentPath, "init"}, os.Environ()))
}

// mountDisk waits for the root disk and mounts it.
func mountDisk() error {
	for deadline := time.Now().Add(diskTimeout); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(disk); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s did not appear within %s", disk, diskTimeout)
		}
	}
	return mounts.Mount{Source: disk, Target: newRoot, Type: "ext4", Flags: syscall.MS_RELATIME, Options: "noinit_itable"}.Do()
}

// makeRoot creates an empty root in memory, for trying a kernel without a disk.
func makeRoot() error {
	if err := (mounts.Mount{Source: "root", Target: newRoot, Type: "tmpfs", Options: "mode=0755"}).Do(); err != nil {
		return err
	}
	for _, dir := range []string{"bin", "etc", "home/sandbox", "tmp", "workspace"} {
		if err := os.MkdirAll(newRoot+"/"+dir, 0o755); err != nil {
			return err
		}
	}
	os.Chmod(newRoot+"/tmp", 0o1777)
	os.Chown(newRoot+"/home/sandbox", 1000, 1000)
	return os.Chown(newRoot+"/workspace", 1000, 1000)
}

// installAgent copies this program to the path that init and the agent run from, which the user cannot access.
func installAgent() error {
	run := mounts.Mount{Source: "run", Target: newRoot + "/run", Type: "tmpfs", Flags: syscall.MS_NOSUID | syscall.MS_NODEV, Options: "mode=0755,size=64m"}
	if err := run.Do(); err != nil {
		return err
	}
	if err := os.Mkdir(agentDir, 0o700); err != nil {
		return err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	return os.WriteFile(newRoot+agentPath, self, 0o700)
}

// switchRoot makes newRoot the root and moves the kernel file systems to it.
func switchRoot() error {
	for _, dir := range []string{"/dev", "/proc", "/sys"} {
		if err := os.MkdirAll(newRoot+dir, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(dir, newRoot+dir, "", syscall.MS_MOVE, ""); err != nil {
			return fmt.Errorf("move %s: %w", dir, err)
		}
	}
	freeInitramfs()
	if err := os.Chdir(newRoot); err != nil {
		return err
	}
	if err := syscall.Mount(".", "/", "", syscall.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move root: %w", err)
	}
	if err := syscall.Chroot("."); err != nil {
		return err
	}
	return os.Chdir("/")
}

// freeInitramfs frees the memory of the initramfs, whose files are not reachable afterwards.
func freeInitramfs() {
	for _, name := range []string{"/modules", "/init"} {
		os.RemoveAll(name)
	}
}
