// Package files reads, writes, lists and removes files with the sandbox user's rights.
package files

import (
	"path"
	"strings"

	"mayfly/agent/internal/fault"
)

// Workspace is where relative paths begin.
const Workspace = "/workspace"

// Resolve makes a path absolute and clean; it may hold any bytes but NUL.
func Resolve(p string) (string, error) {
	if p == "" {
		return "", fault.New("bad_request", "path is empty")
	}
	if strings.IndexByte(p, 0) >= 0 {
		return "", fault.New("bad_request", "path holds a NUL byte")
	}
	if !strings.HasPrefix(p, "/") {
		p = Workspace + "/" + p
	}
	return path.Clean(p), nil
}
