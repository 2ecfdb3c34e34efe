package files

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"syscall"
	"unsafe"
)

const (
	// maxDepth bounds the descriptors held at once; what lies deeper is moved to the top first.
	maxDepth = 64
	// maxRounds bounds a race with somebody who fills a folder while it is emptied.
	maxRounds   = 10000
	atRemoveDir = 0x200
)

// emptyTree removes everything below the folder at p.
func emptyTree(p string) error {
	top, err := openDir(-100, p)
	if err != nil {
		return err
	}
	defer top.Close()
	return emptyDir(top, top, 0)
}

// emptyDir removes what dir holds, in rounds until one finds nothing left or gets nowhere.
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

// emptyOnce goes through dir once and tells how many entries it got rid of and the first that stayed.
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
