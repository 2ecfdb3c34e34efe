package execution

import (
	"syscall"
	"testing"
)

func TestOpenStdioWithoutDescriptors(t *testing.T) {
	if _, err := devNull(); err != nil {
		t.Fatal(err)
	}
	var usual syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &usual); err != nil {
		t.Fatal(err)
	}
	// Descriptors below the limit are free for the first pipe, but not for the second.
	limit := uint64(0)
	for free := 0; free < 3; limit++ {
		if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(limit), syscall.F_GETFD, 0); errno == syscall.EBADF {
			free++
		}
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: usual.Max}); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &usual)
	if _, err := openStdio(&Request{Stdin: true}); err == nil {
		t.Fatal("pipes were opened beyond the limit")
	}
}
