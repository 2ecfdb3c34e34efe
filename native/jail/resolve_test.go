package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// readable creates a folder with one file, both open to everybody.
func readable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", []byte("host\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPathsAreResolvedAsAProcessWithThisRootWould(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(root+"/a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "/a/b", root+"/absolute")
	link(t, "../../..", root+"/a/up")
	link(t, "loop", root+"/loop")
	for path, want := range map[string]string{
		"/a/b": "/a/b", "/absolute/c": "/a/b/c", "/a/up/absolute": "/a/b", "/none/x": "/none/x", "/a/./b/../b": "/a/b",
	} {
		if got, err := resolve(root, path, nil); got != want || err != nil {
			t.Errorf("%s: %s %v, want %s", path, got, err, want)
		}
	}
	if got, err := resolve(root, "/loop/x", nil); err == nil {
		t.Errorf("a loop was resolved to %s", got)
	}
	for _, path := range []string{"/a/b", "/a/b/none", "/absolute", "/a/up/a/b"} {
		if got, err := resolve(root, path, []string{"/a"}); err == nil {
			t.Errorf("%s was resolved to %s", path, got)
		}
	}
}

// For example a certificate in /etc/ssl/certs, which is a link to the folder of local ones.
func TestAFileThatIsALinkInABoundFolderIsVisible(t *testing.T) {
	certificates, local := readable(t), readable(t)
	link(t, local+"/file", certificates+"/local")
	link(t, certificates+"/local", certificates+"/twice")
	for _, name := range []string{"local", "twice"} {
		c := service(t, "/usr/bin/sh", "-c", "read line <"+certificates+"/"+name+" && echo $line")
		c.Binds = append(c.Binds, bind{Path: certificates, Mode: "ro"}, bind{Path: certificates + "/" + name, Mode: "ro"})
		if stdout, stderr, code := confineAndRun(t, c); stdout != "host\n" || code != 0 {
			t.Errorf("code %d: %q %s", code, stdout, stderr)
		}
	}
}

func TestAServiceCannotChooseWhatRootBinds(t *testing.T) {
	mine, secret := folder(t), readable(t)
	outside := filepath.Join(t.TempDir(), "named")
	link(t, secret+"/file", mine+"/link")
	link(t, mine+"/link", outside)
	data := filepath.Join(t.TempDir(), "data")
	link(t, mine, data)
	for _, test := range []struct{ writable, path string }{{mine, mine + "/link"}, {mine, mine + "/file"}, {mine, outside}, {data, outside}} {
		c := service(t, "/usr/bin/true")
		c.Binds = append(c.Binds, bind{Path: test.writable, Mode: "rw"}, bind{Path: test.path, Mode: "ro"})
		_, stderr, code := confineAndRun(t, c)
		if code != exitCode || !strings.Contains(stderr, "is in a folder that the service can write to") {
			t.Errorf("%+v: code %d, %q", test, code, stderr)
		}
	}
}
