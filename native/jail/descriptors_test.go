package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInheritedDescriptorsAreClosed(t *testing.T) {
	cmd := command(t, jail(t, "/usr/bin/sh", "-c", "(echo leaked >&3) 2>/dev/null || echo closed"))
	read, write, _ := os.Pipe()
	defer read.Close()
	cmd.ExtraFiles = []*os.File{write}
	output, err := cmd.Output()
	if err != nil || string(output) != "closed\n" {
		t.Errorf("%q %v", output, err)
	}
	write.Close()
	if text, _ := io.ReadAll(read); string(text) != "" {
		t.Errorf("leaked: %q", text)
	}
}

func TestDescriptorsOfTheJailAreClosed(t *testing.T) {
	p := start(t, nil)
	entries, err := os.ReadDir(string(p) + "/fd")
	if err != nil || len(entries) != 3 {
		t.Errorf("%v %v", entries, err)
	}
}

func TestTheProgramInheritsSocketsThatOnlyRootCanConnectTo(t *testing.T) {
	dir := t.TempDir()
	sockets := []listener{{Path: filepath.Join(dir, "a"), Fd: 4}, {Path: filepath.Join(dir, "b"), Fd: 3}}
	p := start(t, func(s *spec) { s.Listen = sockets })
	for _, l := range sockets {
		info, err := os.Stat(l.Path)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", l.Path, info, err)
		}
		client, err := net.Dial("unix", l.Path)
		if err != nil {
			t.Fatal(err)
		}
		client.Close()
	}
	for _, fd := range []string{"3", "4"} {
		if to, err := os.Readlink(string(p) + "/fd/" + fd); !strings.HasPrefix(to, "socket:") {
			t.Errorf("descriptor %s is %s %v", fd, to, err)
		}
	}
	if _, err := os.Stat(string(p) + "/root" + dir); err == nil {
		t.Error("the program sees the folder of its sockets")
	}
}
