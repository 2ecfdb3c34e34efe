package files

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"syscall"
	"unsafe"

	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/fsuser"
)

// Remove deletes the file or symlink at p, or the directory if recursive. Symlinks are not followed.
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

const (
	// maxDepth limits the number of open descriptors. Deeper directories are moved to the top first.
	maxDepth = 64
	// maxRounds limits the retries if a process keeps adding files to a directory that is being emptied.
	maxRounds   = 10000
	atRemoveDir = 0x200
)

// emptyTree removes everything in the directory at p.
func emptyTree(p string) error {
	top, err := openDir(-100, p)
	if err != nil {
		return err
	}
	defer top.Close()
	return emptyDir(top, top, 0)
}

// emptyDir removes the entries of dir, in rounds until one removes nothing.
func emptyDir(top, dir *os.File, depth int) error {
	for range maxRounds {
		removed, failed, err := emptyOnce(top, dir, depth)
		if err != nil {
			return err
		}
		if removed == 0 {
			return failed
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	return syscall.ENOTEMPTY
}

// emptyOnce goes through dir once. It returns the number of entries removed and the error of the first that could not be removed.
func emptyOnce(top, dir *os.File, depth int) (removed int, failed, err error) {
	for {
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			if err := removeEntry(top, dir, name, depth); err == nil {
				removed++
			} else if failed == nil {
				failed = err
			}
		}
		if err == io.EOF {
			return removed, failed, nil
		}
		if err != nil {
			return removed, failed, err
		}
	}
}

func removeEntry(top, dir *os.File, name string, depth int) error {
	fd := int(dir.Fd())
	err := unlinkAt(fd, name, 0)
	if err != syscall.EISDIR {
		return syscallError("remove", dir.Name()+"/"+name, ignoreMissing(err))
	}
	if err = unlinkAt(fd, name, atRemoveDir); err != syscall.ENOTEMPTY {
		return syscallError("remove", dir.Name()+"/"+name, ignoreMissing(err))
	}
	if depth >= maxDepth {
		var b [9]byte
		rand.Read(b[:])
		return syscallError("rename", dir.Name()+"/"+name, syscall.Renameat(fd, name, int(top.Fd()), ".mayfly-"+hex.EncodeToString(b[:])))
	}
	child, err := openDir(fd, name)
	if err != nil {
		return err
	}
	defer child.Close()
	if err := emptyDir(top, child, depth+1); err != nil {
		return err
	}
	return syscallError("remove", dir.Name()+"/"+name, ignoreMissing(unlinkAt(fd, name, atRemoveDir)))
}

func ignoreMissing(err error) error {
	if err == syscall.ENOENT {
		return nil
	}
	return err
}

func openDir(at int, name string) (*os.File, error) {
	fd, err := syscall.Openat(at, name, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

func unlinkAt(fd int, name string, flags uintptr) error {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall(syscall.SYS_UNLINKAT, uintptr(fd), uintptr(unsafe.Pointer(p)), flags)
	if errno != 0 {
		return errno
	}
	return nil
}
