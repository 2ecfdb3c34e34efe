package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mayfly/seccomp"
)

// The test binary acts as the jail when this variable is in its environment.
const asJail = "MAYFLY_TEST_AS_JAIL"

// These change the jail for a test.
const (
	// withStopTime is the time that a service has to end after a stop signal.
	withStopTime = "MAYFLY_TEST_STOP_TIME"
	// withoutLandlock forbids Landlock, as the filters of many containers do.
	withoutLandlock = "MAYFLY_TEST_WITHOUT_LANDLOCK"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(withStopTime); text != "" {
		stopTime, _ = time.ParseDuration(text)
	}
	if os.Getenv(withoutLandlock) != "" {
		forbidLandlock()
	}
	if os.Getenv(asJail) != "" || len(os.Args) == 2 && os.Args[1] == confinedMode {
		main()
	}
	os.Exit(m.Run())
}

func forbidLandlock() {
	err := seccomp.Program{
		{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, K: 0}, // the number of the call
		{Code: syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K, Jf: 1, K: sysLandlockCreateRuleset},
		{Code: syscall.BPF_RET | syscall.BPF_K, K: 0x00050000 | uint32(syscall.EPERM)}, // SECCOMP_RET_ERRNO
		{Code: syscall.BPF_RET | syscall.BPF_K, K: 0x7fff0000},                         // SECCOMP_RET_ALLOW
	}.InstallOnThread()
	if err != nil {
		panic(err)
	}
}

const testUID = 2_100_008

// jail returns a specification with what small programs of the host need.
func jail(t *testing.T, program string, argv ...string) spec {
	if os.Getuid() != 0 {
		t.Skip("only root can build a jail")
	}
	s := spec{UID: testUID, GID: testUID, Network: "none", Devices: []string{"null"}, Program: program, Argv: argv}
	for _, path := range []string{"/usr/lib", "/usr/lib64", program} {
		s.Binds = append(s.Binds, bind{Path: path, Mode: "exec", Optional: true})
	}
	return s
}

func command(t *testing.T, s spec) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", encode(t, s))
	cmd.Env = []string{asJail + "=1", "SECRET=1"}
	return cmd
}

// run runs the program of a jail and returns its output and exit code.
func run(t *testing.T, s spec) (stdout, stderr string, code int) {
	t.Helper()
	cmd := command(t, s)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// sh runs a shell script in the jail, where only the shell's built-in commands exist.
func sh(t *testing.T, script string, change func(*spec)) string {
	t.Helper()
	s := jail(t, "/usr/bin/sh", "-c", script)
	if change != nil {
		change(&s)
	}
	stdout, stderr, code := run(t, s)
	if code != 0 {
		t.Fatalf("code %d: %s%s", code, stdout, stderr)
	}
	return strings.TrimSpace(stdout)
}

// proc is the /proc folder of a program that runs in a jail until the test ends.
type proc string

// start runs cat in a jail and returns once cat is running.
func start(t *testing.T, change func(*spec)) proc {
	t.Helper()
	s := jail(t, "/usr/bin/cat")
	if change != nil {
		change(&s)
	}
	cmd := command(t, s)
	cmd.Stderr = os.Stderr
	stdin, _ := cmd.StdinPipe()
	stdout, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	if _, err := stdin.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
		t.Fatal("the program did not start")
	}
	return proc(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid)))
}

func (p proc) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(string(p), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// status returns one field of /proc/PID/status with its values separated by single spaces.
func (p proc) status(t *testing.T, field string) string {
	t.Helper()
	for line := range strings.Lines(p.read(t, "status")) {
		if name, value, _ := strings.Cut(line, ":"); name == field {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	t.Fatalf("no %s", field)
	return ""
}
