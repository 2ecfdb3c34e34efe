package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// openTerminal returns both ends of a pseudo-terminal.
func openTerminal(t *testing.T) (operator, terminal *os.File) {
	t.Helper()
	operator, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("this host has no pseudo-terminals")
	}
	t.Cleanup(func() { operator.Close() })
	var locked, number int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &locked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, operator.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return operator, terminal
}

func TestAServiceWritesToATerminalAndReadsNothingFromIt(t *testing.T) {
	operator, terminal := openTerminal(t)
	script := "exec 2>/dev/null; [ -t 0 ] && echo input; [ -t 1 ] && echo terminal; read line <&1 && echo read $line; read line && echo read $line; echo end"
	c := service(t, "/usr/bin/sh", "-c", script)
	cmd := confinedCommand(t, c)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	if _, err := operator.WriteString("secret\nsecret\n"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	// The end of the terminal is an error.
	shown, _ := io.ReadAll(operator)
	lines := strings.Fields(string(shown))
	if said := strings.Join(lines, " "); strings.Contains(said, "read") || strings.Contains(said, "input") || !strings.Contains(said, "terminal end") {
		t.Errorf("%q", said)
	}
}

func TestAServiceWritesToAFileThroughAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("kept\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	script := "echo one; echo two >&2; echo three; for fd in 1 2; do [ -p /proc/self/fd/$fd ] && echo pipe; done"
	cmd := confinedCommand(t, service(t, "/usr/bin/sh", "-c", script))
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	lines := strings.SplitAfter(string(text), "\n")
	kept := strings.Join(withoutNotices(lines), "")
	if err != nil || kept != "kept\none\ntwo\nthree\npipe\npipe\n" {
		t.Errorf("%q %v", text, err)
	}
}

func TestAServiceGoesOnWhenNobodyReadsItsOutput(t *testing.T) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	journal := os.NewFile(uintptr(pair[0]), "journal")
	defer journal.Close()
	syscall.Close(pair[1])
	// More than the pipe between the service and mayfly-jail holds: some of it has met the closed socket before the end.
	cmd := confinedCommand(t, service(t, "/usr/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; exit 7"))
	cmd.Stdout, cmd.Stderr = journal, journal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitForExit(t, cmd, 7)
}
