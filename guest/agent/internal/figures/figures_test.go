package figures

import (
	"os"
	"testing"
)

func TestMeasure(t *testing.T) {
	group := t.TempDir()
	os.WriteFile(group+"/cpu.stat", []byte("usage_usec 30\nuser_usec 20\nsystem_usec 10\n"), 0o644)
	os.WriteFile(group+"/pids.current", []byte("7\n"), 0o644)
	f := Measure(group)
	if f.CPU.Count < 1 || f.CPU.UserUs != 20 || f.CPU.SystemUs != 10 || f.Processes != 7 {
		t.Fatalf("%+v", f)
	}
	if f.Memory.Total < 1<<20 || f.Memory.Available <= 0 || f.Memory.Available > f.Memory.Total || f.Disk.Total <= 0 || f.UptimeMs <= 0 || f.UnixNs == "" {
		t.Fatalf("%+v", f)
	}
}
