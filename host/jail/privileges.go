package main

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"
)

const (
	prCapbsetDrop        = 24
	prSetNoNewPrivs      = 38
	prCapAmbient         = 47
	prCapAmbientClearAll = 4
	linuxCapabilityV3    = 0x20080522
	highestCapability    = 63
	keyctlJoinSession    = 1
)

// dropPrivileges switches to the uid and gid without groups and capabilities, and makes sure that no program can regain any.
func dropPrivileges(s *spec) error {
	for capability := range uintptr(highestCapability + 1) {
		if err := prctl(prCapbsetDrop, capability); errors.Is(err, syscall.EINVAL) {
			// The kernel has no higher capability.
			break
		} else if err != nil {
			return fmt.Errorf("bounding set: %w", err)
		}
	}
	if err := prctl(prCapAmbient, prCapAmbientClearAll); err != nil {
		return fmt.Errorf("ambient set: %w", err)
	}
	uid, gid := uintptr(s.UID), uintptr(s.GID)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return fmt.Errorf("groups: %w", errno)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESGID, gid, gid, gid); errno != 0 {
		return fmt.Errorf("gid: %w", errno)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uid, uid, uid); errno != 0 {
		return fmt.Errorf("uid: %w", errno)
	}
	if err := leaveKeyring(); err != nil {
		return fmt.Errorf("keyring: %w", err)
	}
	if err := clearCapabilities(); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if err := prctl(prSetNoNewPrivs, 1); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	return nil
}

// leaveKeyring replaces the service's session keyring with an empty one. Some kernels and containers have no keyrings.
func leaveKeyring() error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_KEYCTL, keyctlJoinSession, 0, 0)
	if errno != 0 && errno != syscall.ENOSYS && errno != syscall.EPERM {
		return errno
	}
	return nil
}

func prctl(option, value uintptr) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, value, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// clearCapabilities empties the effective, permitted and inheritable sets of the calling thread.
func clearCapabilities() error {
	header := struct {
		version uint32
		pid     int32
	}{version: linuxCapabilityV3}
	var sets [2]struct{ effective, permitted, inheritable uint32 }
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
