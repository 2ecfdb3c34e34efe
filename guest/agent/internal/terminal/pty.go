// Package terminal runs login shells on pseudo-terminals.
package terminal

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// size is the size of a terminal in characters.
type size struct {
	Cols uint16 `json:"cols"`
	Rows uint16 `json:"rows"`
}

func (s size) valid() bool { return s.Cols >= 1 && s.Cols <= 1000 && s.Rows >= 1 && s.Rows <= 1000 }

// openPTY opens a pseudo-terminal. The master is non-blocking; the caller closes the slave.
func openPTY(s size) (master *os.File, slave int, err error) {
	fd, err := syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, -1, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	var number uint32
	var unlock int32
	err = ioctl(fd, syscall.TIOCGPTN, unsafe.Pointer(&number))
	if err == nil {
		err = ioctl(fd, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	}
	if err == nil {
		err = setSize(fd, s)
	}
	if err == nil {
		slave, err = syscall.Open(fmt.Sprintf("/dev/pts/%d", number), syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		syscall.Close(fd)
		return nil, -1, os.NewSyscallError("pty", err)
	}
	return os.NewFile(uintptr(fd), "pty"), slave, nil
}

func setSize(fd int, s size) error {
	window := [4]uint16{s.Rows, s.Cols, 0, 0}
	return ioctl(fd, syscall.TIOCSWINSZ, unsafe.Pointer(&window))
}

func ioctl(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}
