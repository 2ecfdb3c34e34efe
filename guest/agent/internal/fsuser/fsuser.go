// Package fsuser performs file operations with the permissions of the sandbox user instead of the agent's.
package fsuser

import (
	"runtime"
	"syscall"
	"unsafe"
)

// UID and GID identify the sandbox user.
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

// Do runs fn on a dedicated OS thread that has the file-system uid and gid of the user and no effective capabilities: no DAC override,
// no use of the reserved disk blocks. fn must not hand work to other goroutines.
func Do(fn func() error) error {
	runtime.LockOSThread()
	restore, err := becomeUser()
	if err != nil {
		// The state of the thread is unknown. It stays locked, so it ends with its goroutine.
		return err
	}
	defer func() {
		if restore() == nil {
			runtime.UnlockOSThread()
		}
	}()
	return fn()
}

// becomeUser changes the calling thread only. It uses raw system calls, because package syscall changes all threads.
func becomeUser() (restore func() error, err error) {
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

// currentFS reads the current ids by setting an invalid id, which changes nothing.
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
