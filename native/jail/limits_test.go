package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestTheProgramStartsInItsCgroups(t *testing.T) {
	var groups, procs []string
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
			continue
		}
		group, err := os.MkdirTemp(root, "mayfly-test-")
		if err != nil {
			t.Skip("cgroups cannot be made here")
		}
		t.Cleanup(func() {
			if err := syscall.Rmdir(group); err != nil {
				t.Error(err)
			}
		})
		groups, procs = append(groups, filepath.Base(group)), append(procs, filepath.Join(group, "cgroup.procs"))
	}
	p := start(t, func(s *spec) { s.CgroupProcs = procs })
	joined := p.read(t, "cgroup")
	for _, group := range groups {
		if !strings.Contains(joined, "/"+group+"\n") {
			t.Errorf("not in %s: %s", group, joined)
		}
	}
}

func TestAFileBeyondTheSizeLimitIsAnErrorNotTheEnd(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "file")
	output := sh(t, "echo 0123456789 > "+file+"; echo more >> "+file+" || echo refused; read line < "+file+"; echo $line", func(s *spec) {
		s.Binds = append(s.Binds, bind{Path: folder, Mode: "rw"})
		s.Rlimits = map[string]uint64{"fsize": 11}
	})
	if output != "refused\n0123456789" {
		t.Errorf("got %q", output)
	}
}

func TestTheProgramIsAPreferredVictimOfTheOutOfMemoryKiller(t *testing.T) {
	if got := strings.TrimSpace(start(t, nil).read(t, "oom_score_adj")); got != oomScoreAdj {
		t.Errorf("oom_score_adj is %s, not %s", got, oomScoreAdj)
	}
}
