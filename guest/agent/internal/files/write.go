package files

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"syscall"

	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/fsuser"
)

const maxLinks = 40

// Write writes body to the file at p, following symlinks and creating parent directories. It writes a temporary file and renames it, so
// a failure leaves the previous file unchanged, and no directory that was created for it. A body over maxBytes is too_large; a negative maxBytes means no limit. Returns the
// size of the file.
func Write(p string, body io.Reader, maxBytes int64) (size int64, err error) {
	err = fsuser.Do(func() error {
		size, err = write(p, body, maxBytes)
		return err
	})
	return size, err
}

func write(p string, body io.Reader, maxBytes int64) (int64, error) {
	target, mode, err := writeTarget(p)
	if err != nil {
		return 0, err
	}
	temp, made, err := createTemp(target)
	if err != nil {
		removeDirs(made)
		return 0, err
	}
	size, err := fill(temp, body, maxBytes, mode)
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temp.Name(), target)
	}
	if err != nil {
		os.Remove(temp.Name())
		removeDirs(made)
		return 0, err
	}
	return size, nil
}

// writeTarget follows symlinks at p and checks that an existing file may be replaced. Returns the path to write and its mode.
func writeTarget(p string) (target string, mode os.FileMode, err error) {
	for range maxLinks {
		var st syscall.Stat_t
		if err := syscall.Lstat(p, &st); err == syscall.ENOENT {
			return p, 0o644, nil
		} else if err != nil {
			return "", 0, &os.PathError{Op: "stat", Path: p, Err: err}
		}
		if st.Mode&syscall.S_IFMT != syscall.S_IFLNK {
			if err := mustBeRegular(p, st.Mode); err != nil {
				return "", 0, err
			}
			return p, os.FileMode(st.Mode & 0o777), mayWrite(p)
		}
		link, err := os.Readlink(p)
		if err != nil {
			return "", 0, err
		}
		if !strings.HasPrefix(link, "/") {
			link = p[:strings.LastIndexByte(p, '/')+1] + link
		}
		p = link
	}
	return "", 0, &os.PathError{Op: "open", Path: p, Err: syscall.ELOOP}
}

// mayWrite fails if the user may not write the file. A running program may be replaced.
func mayWrite(p string) error {
	f, err := os.OpenFile(p, os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW|syscall.O_NOCTTY, 0)
	if err == nil {
		return f.Close()
	}
	if errors.Is(err, syscall.ETXTBSY) {
		return nil
	}
	return err
}

// maxCreateAttempts limits how often the directory of a file is made again when a failed write removed it meanwhile.
const maxCreateAttempts = 5

// createTemp creates a temporary file in the directory of target, and the directory if it does not exist. Also returns the directories that it made,
// the outermost first.
func createTemp(target string) (f *os.File, made []string, err error) {
	dir, base := path.Split(target)
	if base == "" || base == "." || base == ".." {
		return nil, nil, fault.New("is_directory", "%s is a directory", target)
	}
	if len(base) > 255 {
		return nil, nil, &os.PathError{Op: "open", Path: base, Err: syscall.ENAMETOOLONG}
	}
	var b [9]byte
	rand.Read(b[:])
	name := dir + ".mayfly-" + hex.EncodeToString(b[:])
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL | syscall.O_NOFOLLOW
	for attempt := 0; ; attempt++ {
		f, err = os.OpenFile(name, flags, 0o600)
		if !errors.Is(err, syscall.ENOENT) || attempt == maxCreateAttempts {
			return f, made, err
		}
		more, err := makeDirs(strings.TrimRight(dir, "/"))
		made = append(made, more...)
		if err != nil {
			return nil, made, err
		}
	}
}

// makeDirs creates a directory and its missing parents. Returns those that it made, the outermost first.
func makeDirs(dir string) (made []string, err error) {
	if isDirectory(dir) {
		return nil, nil
	}
	if slash := strings.LastIndexByte(dir, '/'); slash > 0 {
		if made, err = makeDirs(strings.TrimRight(dir[:slash], "/")); err != nil {
			return made, err
		}
	}
	if err = os.Mkdir(dir, 0o755); err == nil {
		return append(made, dir), nil
	}
	if errors.Is(err, syscall.EEXIST) && isDirectory(dir) {
		return made, nil
	}
	if errors.Is(err, syscall.EEXIST) {
		err = &os.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	}
	return made, err
}

func isDirectory(p string) bool {
	st, err := os.Stat(p)
	return err == nil && st.IsDir()
}

// removeDirs removes the directories that makeDirs made, unless there is something in them by now.
func removeDirs(made []string) {
	for at := len(made) - 1; at >= 0; at-- {
		if syscall.Rmdir(made[at]) != nil {
			return
		}
	}
}

func fill(f *os.File, body io.Reader, maxBytes int64, mode os.FileMode) (int64, error) {
	if maxBytes >= 0 {
		body = io.LimitReader(body, maxBytes+1)
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, body, make([]byte, 128<<10))
	if err != nil {
		return 0, err
	}
	if maxBytes >= 0 && n > maxBytes {
		return 0, fault.New("too_large", "body exceeds %d bytes", maxBytes)
	}
	if err := f.Chmod(mode); err != nil {
		return 0, err
	}
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}
