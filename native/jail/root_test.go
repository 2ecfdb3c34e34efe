package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folder creates a folder with one file, both owned by the jailed program.
func folder(t *testing.T) string {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("host"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, file} {
		if err := os.Lchown(path, testUID, testUID); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOnlyBindsAreVisible(t *testing.T) {
	mine, other := folder(t), folder(t)
	script := "echo /*; echo /dev/* /dev/net/*; echo " + filepath.Dir(mine) + "/*; cat=$(command -v cat); echo [$cat]; pwd; " +
		"[ -e " + other + " ] || echo hidden; (: >/new) 2>/dev/null || echo closed"
	got := sh(t, script, func(s *spec) {
		s.Binds = append(s.Binds, bind{Path: mine, Mode: "rw"})
		s.Devices = []string{"null", "urandom", "net/tun"}
	})
	top, rest, _ := strings.Cut(got, "\n")
	for _, name := range strings.Fields(top) {
		if !slices.Contains([]string{"/bin", "/dev", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/tmp", "/usr"}, name) {
			t.Errorf("%s is in the root", name)
		}
	}
	want := "/dev/net /dev/null /dev/urandom /dev/net/tun\n" + mine + "\n[]\n/\nhidden\nclosed"
	if rest != want {
		t.Errorf("got %s\nwant %s", rest, want)
	}
}

func TestMountsAreRestricted(t *testing.T) {
	mine, template := folder(t), folder(t)
	p := start(t, func(s *spec) {
		s.Binds = append(s.Binds, bind{Path: mine, Mode: "rw"}, bind{Path: template + "/file", Mode: "ro"})
	})
	want := map[string]string{
		"/":                "ro,nosuid,nodev,noexec",
		"/dev":             "ro,nosuid,noexec",
		"/usr/lib":         "ro,nosuid,nodev",
		"/usr/bin/cat":     "ro,nosuid,nodev",
		mine:               "rw,nosuid,nodev,noexec",
		template + "/file": "ro,nosuid,nodev,noexec",
	}
	if _, err := os.Stat("/usr/lib64"); err == nil {
		want["/usr/lib64"] = "ro,nosuid,nodev"
	}
	for line := range strings.Lines(p.read(t, "mountinfo")) {
		fields := strings.Fields(line)
		options := strings.TrimSuffix(fields[5], ",relatime")
		if want[fields[4]] != options {
			t.Errorf("%s is mounted %s, want %q", fields[4], options, want[fields[4]])
		}
		delete(want, fields[4])
	}
	if len(want) > 0 {
		t.Errorf("not mounted: %v", want)
	}
}

func TestOnlyWritableBindsCanBeWritten(t *testing.T) {
	mine, template := folder(t), folder(t)
	if err := os.Chmod(template+"/file", 0o666); err != nil {
		t.Fatal(err)
	}
	sh(t, "echo guest >"+mine+"/file; echo guest >"+mine+"/new; exec 2>/dev/null; (: >"+template+"/file) && exit 1; (: >>"+template+"/new) && exit 1; :",
		func(s *spec) {
			s.Binds = append(s.Binds, bind{Path: mine, Mode: "rw"}, bind{Path: template, Mode: "ro"})
		})
	for path, want := range map[string]string{mine + "/file": "guest\n", mine + "/new": "guest\n", template + "/file": "host"} {
		if got, err := os.ReadFile(path); string(got) != want {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
}

func TestNestedBindsKeepTheirModes(t *testing.T) {
	outer := folder(t)
	if err := os.Chmod(outer+"/file", 0o666); err != nil {
		t.Fatal(err)
	}
	sh(t, "echo new >"+outer+"/new; (: >"+outer+"/file) 2>/dev/null && exit 1; :", func(s *spec) {
		s.Binds = append(s.Binds, bind{Path: outer, Mode: "rw"}, bind{Path: outer + "/file", Mode: "ro"})
	})
}

func TestNothingCanBeRunFromAWritableBind(t *testing.T) {
	mine := folder(t)
	program, err := os.ReadFile("/usr/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine+"/true", program, 0o755); err != nil {
		t.Fatal(err)
	}
	sh(t, mine+"/true 2>/dev/null; [ $? = 126 ]", func(s *spec) { s.Binds = append(s.Binds, bind{Path: mine, Mode: "rw"}) })
}

func TestTheHostsMountsDoNotChange(t *testing.T) {
	before, _ := os.ReadFile("/proc/self/mountinfo")
	start(t, nil)
	if after, _ := os.ReadFile("/proc/self/mountinfo"); string(after) != string(before) {
		t.Errorf("before\n%safter\n%s", before, after)
	}
}

func TestErrorsNameTheStepAndTheCause(t *testing.T) {
	for want, change := range map[string]func(*spec){
		"build the root: bind /nowhere: no such file or directory": func(s *spec) { s.Binds = append(s.Binds, bind{Path: "/nowhere", Mode: "ro"}) },
		"build the root: device \"mem\" is not allowed in a jail":  func(s *spec) { s.Devices = []string{"mem"} },
		"set the limits: unknown limit \"stack\"":                  func(s *spec) { s.Rlimits = map[string]uint64{"stack": 1} },
		"join the cgroups: /nowhere: no such file":                 func(s *spec) { s.CgroupProcs = []string{"/nowhere"} },
		"leave the host's namespaces: network /nowhere: no such":   func(s *spec) { s.Network = "/nowhere" },
		"start /usr/bin/nothing: no such file or directory":        func(s *spec) { s.Program = "/usr/bin/nothing" },
	} {
		s := jail(t, "/usr/bin/true")
		change(&s)
		_, stderr, code := run(t, s)
		if code != exitCode || !strings.Contains(stderr, "mayfly-jail: "+want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("code %d, %q, want %q", code, stderr, want)
		}
	}
}
