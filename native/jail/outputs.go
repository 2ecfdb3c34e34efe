package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"
)

// output returns what a service writes to instead of a stream that belongs to root. A terminal is opened again for writing only: root's descriptor
// could also read what the operator types. A file or a socket, which could be truncated or read from, is reached through a pipe whose other end
// mayfly-jail holds. The writing end of a pipe and /dev/null can do no harm.
func output(own *os.File) io.Writer {
	if isTerminal(own) {
		if reopened, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", own.Fd()), os.O_WRONLY|syscall.O_NOCTTY, 0); err == nil {
			return reopened
		}
		return copied{own}
	}
	if isPipeEnd(own) || isNull(own) {
		return own
	}
	return copied{own}
}

// outputs are the streams for a service's standard output and errors. They are one if root's are one, so that lines stay in order.
func outputs() (stdout, stderr io.Writer) {
	stdout = output(os.Stdout)
	var out, errs syscall.Stat_t
	if _, isCopied := stdout.(copied); isCopied && syscall.Fstat(1, &out) == nil && syscall.Fstat(2, &errs) == nil && out.Dev == errs.Dev && out.Ino == errs.Ino {
		return stdout, stdout
	}
	return stdout, output(os.Stderr)
}

// input returns what a service reads from: never a terminal.
func input() *os.File {
	if isTerminal(os.Stdin) {
		return nil
	}
	return os.Stdin
}

// copied writes to a file that belongs to root. What cannot be written, for example because the disk is full, is lost; the service goes on.
type copied struct{ to *os.File }

func (c copied) Write(text []byte) (int, error) {
	c.to.Write(text)
	return len(text), nil
}

func isTerminal(file *os.File) bool {
	var settings syscall.Termios
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, file.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&settings)))
	return errno == 0
}

// isPipeEnd reports whether a file is a pipe that can only be written to.
func isPipeEnd(file *os.File) bool {
	var info syscall.Stat_t
	flags, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, file.Fd(), syscall.F_GETFL, 0)
	return errno == 0 && flags&syscall.O_ACCMODE == syscall.O_WRONLY && syscall.Fstat(int(file.Fd()), &info) == nil && info.Mode&syscall.S_IFMT == syscall.S_IFIFO
}

func isNull(file *os.File) bool {
	var info, null syscall.Stat_t
	if syscall.Fstat(int(file.Fd()), &info) != nil || syscall.Stat("/dev/null", &null) != nil {
		return false
	}
	return info.Mode&syscall.S_IFMT == syscall.S_IFCHR && info.Rdev == null.Rdev
}
