package execution

import (
	"os"
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
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	// Enough for the first pipe, not for the second.
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(len(open) + 1), Max: usual.Max}); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &usual)
	if _, err := openStdio(&Request{Stdin: true}); err == nil {
		t.Fatal("pipes were opened beyond the limit")
	}
}
