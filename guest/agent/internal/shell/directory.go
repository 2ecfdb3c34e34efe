package shell

import (
	"os"
	"strings"
	"syscall"

	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/files"
	"mayfly/agent/internal/fsuser"
)

// Directory resolves a working directory and checks that the user may enter it.
func Directory(cwd string) (string, error) {
	if cwd == "" {
		cwd = files.Workspace
	}
	if strings.IndexByte(cwd, 0) >= 0 {
		return "", fault.New("bad_request", "cwd holds a NUL byte")
	}
	if !strings.HasPrefix(cwd, "/") {
		cwd = files.Workspace + "/" + cwd
	}
	err := fsuser.Do(func() error {
		var st syscall.Stat_t
		// The lookup of "." inside it needs what entering needs.
		if err := syscall.Stat(cwd+"/.", &st); err != nil {
			return &os.PathError{Op: "cwd", Path: cwd, Err: err}
		}
		return nil
	})
	if err != nil {
		return "", fault.New("bad_cwd", "%s", err)
	}
	return cwd, nil
}
