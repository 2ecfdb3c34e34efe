// Package files reads, writes, lists and removes files with the permissions of the sandbox user.
package files

import (
	"path"
	"strings"

	"mayfly/agent/internal/fault"
)

// Workspace is the base of relative paths.
const Workspace = "/workspace"

// Resolve makes a path absolute and clean. A path may contain any bytes but NUL.
func Resolve(p string) (string, error) {
	if p == "" {
		return "", fault.New("bad_request", "path is empty")
	}
	if strings.IndexByte(p, 0) >= 0 {
		return "", fault.New("bad_request", "path contains a NUL byte")
	}
	if !strings.HasPrefix(p, "/") {
		p = Workspace + "/" + p
	}
	return path.Clean(p), nil
}
