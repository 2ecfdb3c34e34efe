package cgroup

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// realTree creates a tree in the cgroup2 hierarchy of this machine, or skips the test if it is not writable.
func realTree(t *testing.T) *Tree {
	for _, base := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(base + "/cgroup.procs"); err != nil {
			continue
		}
		if _, err := os.Stat(base + "/cgroup.controllers"); err != nil {
			continue
		}
		dir, err := os.MkdirTemp(base, "mayfly-test")
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			for range 100 {
				if syscall.Rmdir(dir) == nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			t.Error("root of the tree is not empty")
		})
		return Open(dir)
	}
	t.Skip("no cgroup2 to write to")
	return nil
}

func start(t *testing.T, g *Group, script string) int {
	attr := &syscall.SysProcAttr{Setsid: true}
	g.Enter(attr)
	pid, err := syscall.ForkExec("/bin/bash", []string{"bash", "-c", script}, &syscall.ProcAttr{Sys: attr})
	if err != nil {
		t.Fatal(err)
	}
	g.Started(pid)
	return pid
}

func wait(t *testing.T, pid int) syscall.WaitStatus {
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	return ws
}

func TestKillEndsTheWholeGroup(t *testing.T) {
	tree := realTree(t)
	g, err := tree.Make("one")
	if err != nil {
		t.Fatal(err)
	}
	pid := start(t, g, "setsid sleep 100 & sleep 100")
	procs := filepath.Join(g.dir, "cgroup.procs")
	for b, _ := os.ReadFile(procs); len(b) == 0; b, _ = os.ReadFile(procs) {
		time.Sleep(time.Millisecond)
	}
	g.Kill()
	if ws := wait(t, pid); ws.Signal() != syscall.SIGKILL {
		t.Fatalf("status %v", ws)
	}
	g.Release()
	again, err := tree.Make("one")
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
}

func TestASignalReachesTheGroup(t *testing.T) {
	tree := realTree(t)
	g, err := tree.Make("signalled")
	if err != nil {
		t.Fatal(err)
	}
	pid := start(t, g, "exec sleep 100")
	for len(g.pids()) == 0 {
		time.Sleep(time.Millisecond)
	}
	g.Signal(syscall.SIGTERM)
	if ws := wait(t, pid); ws.Signal() != syscall.SIGTERM {
		t.Fatalf("status %v", ws)
	}
	g.Signal(syscall.SIGTERM)
	g.Release()
}

func TestGroupOutlivesItsLeader(t *testing.T) {
	tree := realTree(t)
	g, err := tree.Make("two")
	if err != nil {
		t.Fatal(err)
	}
	wait(t, start(t, g, "sleep 0.3 & exit 0"))
	g.Release()
	if _, err := os.Stat(g.dir); err != nil {
		t.Fatal("removed while a process runs")
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(g.dir); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("never removed")
		}
	}
}

func TestOOMKilled(t *testing.T) {
	g := &Group{dir: t.TempDir()}
	for content, want := range map[string]bool{"": false, "oom 3\noom_kill 0\n": false, "low 0\noom_kill 2\noom_group_kill 0\n": true} {
		os.WriteFile(g.dir+"/memory.events", []byte(content), 0o644)
		if g.OOMKilled() != want {
			t.Errorf("%q", content)
		}
	}
}

func TestANameWhoseGroupStillHasProcessesCanBeUsedAgain(t *testing.T) {
	tree := realTree(t)
	first, err := tree.Make("one")
	if err != nil {
		t.Fatal(err)
	}
	second, err := tree.Make("one")
	if err != nil || first.dir == second.dir {
		t.Fatalf("%v", err)
	}
	first.Release()
	second.Release()
}
