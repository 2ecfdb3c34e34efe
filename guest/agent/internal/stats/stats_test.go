package stats

import (
	"os"
	"testing"
)

func TestMeasure(t *testing.T) {
	group := t.TempDir()
	os.WriteFile(group+"/cpu.stat", []byte("usage_usec 30\nuser_usec 20\nsystem_usec 10\n"), 0o644)
	os.WriteFile(group+"/pids.current", []byte("7\n"), 0o644)
	s := Measure(group)
	if s.CPU.Count < 1 || s.CPU.UserUs != 20 || s.CPU.SystemUs != 10 || s.Processes != 7 {
		t.Fatalf("%+v", s)
	}
	if s.Memory.Total < 1<<20 || s.Memory.Available <= 0 || s.Memory.Available > s.Memory.Total || s.Disk.Total <= 0 || s.UptimeMs <= 0 || s.UnixNs == "" {
		t.Fatalf("%+v", s)
	}
}
