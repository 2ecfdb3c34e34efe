package files

import (
	"bytes"
	"io"
	"os"
	"syscall"
	"unsafe"

	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/fsuser"
)

// File is a file opened for reading, with its size.
type File struct {
	io.ReadCloser
	Size int64
}

// maxUnsized limits how much is read from files that do not report their size, such as those in /proc and /sys.
const maxUnsized = 16 << 20

// Open opens a regular file of at most maxBytes. A negative maxBytes means no limit.
func Open(p string, maxBytes int64) (r *File, err error) {
	err = fsuser.Do(func() error {
		r, err = open(p, maxBytes)
		return err
	})
	return r, err
}

func open(p string, maxBytes int64) (*File, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(p, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: p, Err: err}
	}
	if err := mustBeRegular(p, st.Mode); err != nil {
		return nil, err
	}
	fd, err := openNoMagic(p)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: p, Err: err}
	}
	if err = syscall.Fstat(fd, &st); err == nil {
		err = mustBeRegular(p, st.Mode)
	}
	f := os.NewFile(uintptr(fd), p)
	if err != nil {
		f.Close()
		return nil, err
	}
	r := &File{ReadCloser: f, Size: st.Size}
	if st.Size == 0 || isInSysfs(fd) {
		err = r.slurp(maxBytes)
	}
	if err == nil && maxBytes >= 0 && r.Size > maxBytes {
		err = fault.New("too_large", "%s has %d bytes, which exceeds %d", p, r.Size, maxBytes)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

const sysfsMagic = 0x62656572

// isInSysfs reports whether a file is in /sys, where every file claims to have the size of a page.
func isInSysfs(fd int) bool {
	var st syscall.Statfs_t
	return syscall.Fstatfs(fd, &st) == nil && st.Type == sysfsMagic
}

// slurp reads a file that does not report its size, as those in /proc and /sys, into memory.
func (r *File) slurp(maxBytes int64) error {
	if maxBytes < 0 || maxBytes > maxUnsized {
		maxBytes = maxUnsized
	}
	b, err := io.ReadAll(io.LimitReader(r.ReadCloser, maxBytes+1))
	if err != nil {
		return err
	}
	r.ReadCloser.Close()
	r.ReadCloser, r.Size = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	return nil
}

func mustBeRegular(p string, mode uint32) error {
	switch mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		return nil
	case syscall.S_IFDIR:
		return fault.New("is_directory", "%s is a directory", p)
	default:
		return fault.New("not_regular", "%s is not a regular file", p)
	}
}

type openHow struct{ flags, mode, resolve uint64 }

const (
	sysOpenat2         = 437
	resolveNoMagicLink = 2
)

// openNoMagic opens a file for reading without blocking. It does not follow magic links: those in /proc/self would give access to the
// files that the agent has open.
func openNoMagic(p string) (int, error) {
	name, err := syscall.BytePtrFromString(p)
	if err != nil {
		return -1, err
	}
	how := openHow{flags: syscall.O_RDONLY | syscall.O_NONBLOCK | syscall.O_CLOEXEC | syscall.O_NOCTTY, resolve: resolveNoMagicLink}
	at := -100 // AT_FDCWD
	for {
		fd, _, errno := syscall.Syscall6(sysOpenat2, uintptr(at), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
		switch errno {
		case 0:
			return int(fd), nil
		case syscall.EINTR, syscall.EAGAIN:
		default:
			return -1, errno
		}
	}
}
