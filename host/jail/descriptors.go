package main

import (
	"fmt"
	"math"
	"syscall"
)

// firstOwnFd is above every descriptor that the program inherits, so that descriptors of the jail never collide with them.
const firstOwnFd = 64

const (
	closeRangeCloexec = 4
	fDupfdCloexec     = 1030
)

// openListeners opens the unix sockets on their descriptors. The program can neither replace nor remove them.
func openListeners(s *spec) error {
	for _, l := range s.Listen {
		if err := openListener(l); err != nil {
			return fmt.Errorf("%s: %w", l.Path, err)
		}
	}
	return nil
}

func openListener(l listener) error {
	low, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	// The low number may be reserved for another listener.
	fd, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(low), fDupfdCloexec, firstOwnFd)
	syscall.Close(low)
	if errno != 0 {
		return errno
	}
	defer syscall.Close(int(fd))
	if err := syscall.Bind(int(fd), &syscall.SockaddrUnix{Name: l.Path}); err != nil {
		return err
	}
	if err := syscall.Listen(int(fd), 1); err != nil {
		return err
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(l.Fd), syscall.F_GETFD, 0); errno != syscall.EBADF {
		return fmt.Errorf("descriptor %d is already open", l.Fd)
	}
	return syscall.Dup3(int(fd), l.Fd, 0)
}

// closeOthers marks every other descriptor above 2 to be closed by exec.
func closeOthers(s *spec) error {
	first := 3
	for _, fd := range append(s.listenFds(), math.MaxInt32) {
		if fd > first {
			if _, _, errno := syscall.RawSyscall(sysCloseRange, uintptr(first), uintptr(fd-1), closeRangeCloexec); errno != 0 {
				return errno
			}
		}
		first = fd + 1
	}
	return nil
}
