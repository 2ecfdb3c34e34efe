package shell

import (
	"os"
	"slices"
	"testing"

	"mayfly/agent/internal/fault"
)

func TestEnvironment(t *testing.T) {
	env, err := Environment(map[string]string{"HOME": "/tmp", "X": "a=b"})
	if err != nil || len(env) != 8 {
		t.Fatal(env, err)
	}
	for _, want := range []string{"HOME=/tmp", "X=a=b", "USER=sandbox", "LANG=C.UTF-8", "VIRTUAL_ENV=/home/sandbox/.venv"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, bad := range []map[string]string{{"": "x"}, {"A=B": "x"}, {"A": "\x00"}, {"A\x00": "x"}} {
		if _, err := Environment(bad); err == nil || fault.From(err).Code != "bad_request" {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can look at folders as another user")
	}
	dir, err := os.MkdirTemp("", "cwd")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755)
	os.Mkdir(dir+"/open", 0o755)
	os.Mkdir(dir+"/locked", 0o700)
	os.Chmod(dir+"/locked", 0o700)
	os.WriteFile(dir+"/file", nil, 0o644)
	os.Symlink("open", dir+"/link")
	for name, ok := range map[string]bool{"open": true, "link": true, "locked": false, "file": false, "none": false} {
		_, err := Directory(dir + "/" + name)
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && fault.From(err).Code != "bad_cwd" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
