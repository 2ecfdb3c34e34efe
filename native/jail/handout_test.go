package main

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fileOf is a copy of a listener's descriptor.
func fileOf(t *testing.T, listener interface{ File() (*os.File, error) }) *os.File {
	t.Helper()
	file, err := listener.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// receiveFrom gets the sockets as a jail does.
func receiveFrom(t *testing.T, path string) ([]string, []int) {
	t.Helper()
	conn, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(conn)
	if err := syscall.Connect(conn, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	names, fds, err := receive(conn)
	if err != nil {
		t.Fatal(err)
	}
	return names, fds
}

func TestSocketsOutliveTheProcessesThatUseThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sockets")
	api, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	previews, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	handout, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	handout.SetUnlinkOnClose(false)
	cmd := exec.Command("/proc/self/exe", handOutMode)
	cmd.Env = []string{asJail + "=1", "LISTEN_FDNAMES=api:previews:handout"}
	cmd.ExtraFiles = []*os.File{fileOf(t, api), fileOf(t, previews), fileOf(t, handout)}
	cmd.Stderr = os.Stderr
	stdout, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	for _, file := range cmd.ExtraFiles {
		file.Close()
	}
	address := api.Addr().String()
	for _, listener := range []net.Listener{api, previews, handout} {
		listener.Close()
	}

	// No other program can open the port, and clients that connect wait.
	if _, err := net.Listen("tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("opened by another: %v", err)
	}
	visitor, err := net.DialTimeout("tcp", address, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer visitor.Close()
	for range 2 {
		names, fds := receiveFrom(t, path)
		if !slices.Equal(names, []string{"api", "previews"}) || len(fds) != 2 {
			t.Fatalf("%q %v", names, fds)
		}
		for _, fd := range fds {
			defer syscall.Close(fd)
		}
		if port, err := boundPort(fds[0]); err != nil || !strings.HasSuffix(address, ":"+strconv.Itoa(int(port))) {
			t.Errorf("port %d %v", port, err)
		}
	}
	_, fds := receiveFrom(t, path)
	file := os.NewFile(uintptr(fds[0]), "api")
	defer file.Close()
	syscall.Close(fds[1])
	next, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	accepted, err := next.Accept()
	if err != nil {
		t.Fatal(err)
	}
	accepted.Close()
}

func TestWithoutItsOwnSocketNothingIsHandedOut(t *testing.T) {
	t.Setenv("LISTEN_FDNAMES", "api:previews")
	if err := handOut(nil); err == nil {
		t.Error("accepted")
	}
}
