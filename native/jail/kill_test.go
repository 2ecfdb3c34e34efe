package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// sleeper starts a process that would run for long, and returns it with its start time.
func sleeper(t *testing.T) (*exec.Cmd, uint64) {
	t.Helper()
	command := exec.Command("sleep", "1000")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	start, ok := startOf(string(stat))
	if !ok {
		t.Fatalf("no start time in %s", stat)
	}
	return command, start
}

// wasKilled waits for the end of a process.
func wasKilled(t *testing.T, command *exec.Cmd) bool {
	t.Helper()
	timer := time.AfterFunc(30*time.Second, func() { _ = command.Process.Signal(syscall.SIGTERM) })
	defer timer.Stop()
	_ = command.Wait()
	return command.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

func isRunning(command *exec.Cmd) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", command.Process.Pid))
	return err == nil && stat != nil && syscall.Kill(command.Process.Pid, 0) == nil
}

func TestAProcessIsKilled(t *testing.T) {
	command, start := sleeper(t)
	if err := kill([]string{"process", strconv.Itoa(command.Process.Pid), strconv.FormatUint(start, 10)}); err != nil {
		t.Fatal(err)
	}
	if !wasKilled(t, command) {
		t.Fatal("the process was not killed")
	}
}

func TestAnotherProcessWithTheSameIDIsNotKilled(t *testing.T) {
	command, start := sleeper(t)
	if err := kill([]string{"process", strconv.Itoa(command.Process.Pid), strconv.FormatUint(start-1, 10)}); err != nil {
		t.Fatal(err)
	}
	if !isRunning(command) {
		t.Fatal("a process that started at another time was killed")
	}
}

func TestAProcessThatIsGoneIsNoError(t *testing.T) {
	command, start := sleeper(t)
	_ = command.Process.Kill()
	_ = command.Wait()
	if err := killProcess(command.Process.Pid, start); err != nil {
		t.Fatal(err)
	}
	if err := killGroup(filepath.Join(t.TempDir(), "cgroup.procs")); err != nil {
		t.Fatal(err)
	}
}

func TestTheProcessesOfAGroupAreKilledAndNoOthers(t *testing.T) {
	inside, _ := sleeper(t)
	outside, _ := sleeper(t)
	procs := filepath.Join(t.TempDir(), "cgroup.procs")
	if err := os.WriteFile(procs, fmt.Appendf(nil, "0\n1\n%d\n", inside.Process.Pid), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := kill([]string{"group", procs}); err != nil {
		t.Fatal(err)
	}
	if !wasKilled(t, inside) {
		t.Fatal("the process in the group was not killed")
	}
	if !isRunning(outside) {
		t.Fatal("a process outside of the group was killed")
	}
}

func TestMalformedOrdersAreRefused(t *testing.T) {
	for _, arguments := range [][]string{nil, {"process"}, {"process", "x", "1"}, {"process", "1", "-1"}, {"group"}, {"all", "x"}} {
		if kill(arguments) == nil {
			t.Errorf("%q was accepted", arguments)
		}
	}
}
