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
	if err := boundCapabilities(0); err != nil {
		return err
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
	if err := setCapabilities(0); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if err := prctl(prSetNoNewPrivs, 1); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	return nil
}

// boundCapabilities limits the bounding set of the calling thread to these capabilities, a bit for each.
func boundCapabilities(kept uint64) error {
	for capability := range uintptr(highestCapability + 1) {
		if kept&(1<<capability) != 0 {
			continue
		}
		if err := prctl(prCapbsetDrop, capability); errors.Is(err, syscall.EINVAL) {
			// The kernel has no higher capability.
			break
		} else if err != nil {
			return fmt.Errorf("bounding set: %w", err)
		}
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

// setCapabilities makes these capabilities, a bit for each, the effective and permitted ones of the calling thread, and none inheritable.
func setCapabilities(kept uint64) error {
	header := capabilityHeader{version: linuxCapabilityV3}
	low, high := uint32(kept), uint32(kept>>32)
	sets := [2]capabilitySets{{effective: low, permitted: low}, {effective: high, permitted: high}}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// permittedCapabilities returns the capabilities of the calling thread, with a bit for each.
func permittedCapabilities() (uint64, error) {
	header := capabilityHeader{version: linuxCapabilityV3}
	var sets [2]capabilitySets
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	if errno != 0 {
		return 0, errno
	}
	return uint64(sets[1].permitted)<<32 | uint64(sets[0].permitted), nil
}

type capabilityHeader struct {
	version uint32
	pid     int32
}

type capabilitySets struct{ effective, permitted, inheritable uint32 }
