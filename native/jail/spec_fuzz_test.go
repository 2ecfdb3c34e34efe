package main

import (
	"strings"
	"testing"
)

func FuzzSpec(f *testing.F) {
	f.Add(goodSpec + `,"binds":[{"path":"/usr/bin/true","mode":"exec"}],"listen":[{"path":"/a","fd":3}],"env":{"A":"B"}}`)
	f.Add(goodSpec + `,"binds":[{"path":"//proc/1","mode":"ro"}]}`)
	f.Fuzz(func(t *testing.T, document string) {
		s, err := readSpec([]string{document})
		if err != nil {
			return
		}
		if s.UID == 0 || s.GID == 0 || !isPlain(s.Program) {
			t.Fatalf("accepted: %+v", s)
		}
		for _, b := range s.Binds {
			if b.Path == overcommitPath && b.Mode == "ro" {
				continue
			}
			if !isPlain(b.Path) || b.Path == "/" || strings.HasPrefix(b.Path+"/", "/proc/") || strings.HasPrefix(b.Path+"/", "/sys/") || strings.HasPrefix(b.Path+"/", "/dev/") {
				t.Fatalf("bind accepted: %+v", b)
			}
		}
		for _, fd := range s.listenFds() {
			if fd < 3 || fd >= firstOwnFd {
				t.Fatalf("descriptor accepted: %d", fd)
			}
		}
	})
}
