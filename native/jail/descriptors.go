package main

import (
	"fmt"
	"math"
	"syscall"
)

// firstOwnFd is above every descriptor that the program inherits, so that descriptors of the jail never collide with them.
const firstOwnFd = 64

const (
	sysCloseRange     = 436
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
	fd, err := aboveInherited(low)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: l.Path}); err != nil {
		return err
	}
	if err := syscall.Listen(fd, 1); err != nil {
		return err
	}
	return passOn(fd, l.Fd)
}

// aboveInherited moves a descriptor above those that the program inherits: its low number may be reserved for one of them.
func aboveInherited(low int) (int, error) {
	fd, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(low), fDupfdCloexec, firstOwnFd)
	syscall.Close(low)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// passOn copies a descriptor to the number under which the program inherits it.
func passOn(own, number int) error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(number), syscall.F_GETFD, 0); errno != syscall.EBADF {
		return fmt.Errorf("descriptor %d is already open", number)
	}
	return syscall.Dup3(own, number, 0)
}

// closeOthers marks every other descriptor above 2 to be closed by exec.
func closeOthers(s *spec) error { return closeAllBut(s.listenFds()) }

// closeAllBut marks every descriptor above 2 to be closed by exec, except for these, which are in ascending order.
func closeAllBut(kept []int) error {
	first := 3
	for _, fd := range append(kept, math.MaxInt32) {
		if fd > first {
			if _, _, errno := syscall.RawSyscall(sysCloseRange, uintptr(first), uintptr(fd-1), closeRangeCloexec); errno != 0 {
				return errno
			}
		}
		first = fd + 1
	}
	return nil
}
