package files

import (
	"os"
	"syscall"

	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/fsuser"
)

// Remove deletes the file, symlink or (recursive) folder at p. Symlinks are removed, never followed.
func Remove(p string, recursive bool) error {
	if p == "/" || p == Workspace {
		return fault.New("bad_request", "%s cannot be removed", p)
	}
	return fsuser.Do(func() error { return remove(p, recursive) })
}

func remove(p string, recursive bool) error {
	var st syscall.Stat_t
	if err := syscall.Lstat(p, &st); err != nil {
		return &os.PathError{Op: "remove", Path: p, Err: err}
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return syscallError("remove", p, syscall.Unlink(p))
	}
	if !recursive {
		return fault.New("is_directory", "%s is a directory", p)
	}
	if syscall.Rmdir(p) == nil {
		return nil
	}
	if err := emptyTree(p); err != nil {
		return err
	}
	return syscallError("remove", p, syscall.Rmdir(p))
}

func syscallError(op, p string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: p, Err: err}
}
