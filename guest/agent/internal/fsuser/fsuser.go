// Package fsuser does file-system work with the rights of the sandbox user instead of the agent's.
package fsuser

import (
	"runtime"
	"syscall"
	"unsafe"
)

// UID and GID are the sandbox user's.
const (
	UID = 1000
	GID = 1000
)

type capHeader struct {
	version uint32
	pid     int32
}

type capData struct{ effective, permitted, inheritable uint32 }

const capVersion3 = 0x20080522

// Do runs fn on an OS thread of its own whose file-system uid and gid are the user's and which holds no effective
// capability: no DAC override, no use of the disk's reserve. Everything fn does must happen in its own goroutine.
func Do(fn func() error) error {
	runtime.LockOSThread()
	back, err := become()
	if err != nil {
		// The thread is in doubt: it stays locked and dies with its goroutine.
		return err
	}
	defer func() {
		if back() == nil {
			runtime.UnlockOSThread()
		}
	}()
	return fn()
}

// become changes the calling thread alone; the raw calls are per thread, unlike those of package syscall.
func become() (back func() error, err error) {
	header := capHeader{version: capVersion3}
	var held [2]capData
	if err := capCall(syscall.SYS_CAPGET, &header, &held); err != nil {
		return nil, err
	}
	setFS(UID, GID)
	if uid, gid := currentFS(); uid != UID || gid != GID {
		return nil, syscall.EPERM
	}
	none := held
	none[0].effective, none[1].effective = 0, 0
	if err := capCall(syscall.SYS_CAPSET, &header, &none); err != nil {
		return nil, err
	}
	return func() error {
		if err := capCall(syscall.SYS_CAPSET, &header, &held); err != nil {
			return err
		}
		setFS(0, 0)
		if uid, gid := currentFS(); uid != 0 || gid != 0 {
			return syscall.EPERM
		}
		return nil
	}, nil
}

func setFS(uid, gid uintptr) {
	syscall.RawSyscall(syscall.SYS_SETFSGID, gid, 0, 0)
	syscall.RawSyscall(syscall.SYS_SETFSUID, uid, 0, 0)
}

// currentFS asks by setting an id that is never valid, which changes nothing.
func currentFS() (uid, gid uintptr) {
	gid, _, _ = syscall.RawSyscall(syscall.SYS_SETFSGID, ^uintptr(0), 0, 0)
	uid, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, ^uintptr(0), 0, 0)
	return uid, gid
}

func capCall(number uintptr, header *capHeader, data *[2]capData) error {
	_, _, errno := syscall.RawSyscall(number, uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(data)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
