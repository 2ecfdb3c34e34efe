package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/fsuser"
)

// Entry is one directory entry. Names may be any bytes, so they are sent as base64, which is how JSON encodes a byte slice.
type Entry struct {
	Name []byte `json:"name_base64"`
	Type string `json:"type"`
	Size *int64 `json:"size_bytes"`
}

// List returns the first maxEntries entries of the directory at p, sorted by name, and whether there are more.
func List(p string, maxEntries int) (entries []Entry, truncated bool, err error) {
	err = fsuser.Do(func() error {
		entries, truncated, err = list(p, maxEntries)
		return err
	})
	return entries, truncated, err
}

func list(p string, maxEntries int) ([]Entry, bool, error) {
	f, err := os.OpenFile(p, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENOTDIR) {
		if _, missing := os.Stat(p); errors.Is(missing, syscall.ENOTDIR) {
			return nil, false, fault.New("not_found", "%s is below a file", p)
		}
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	first, truncated, err := smallest(f, maxEntries)
	if err != nil {
		return nil, false, err
	}
	entries := make([]Entry, 0, len(first))
	for _, d := range first {
		if e, ok := describe(d); ok {
			entries = append(entries, e)
		}
	}
	return entries, truncated, nil
}

// smallest reads a whole directory but keeps only about twice limit names in memory.
func smallest(f *os.File, limit int) (kept []fs.DirEntry, truncated bool, err error) {
	cut := func() {
		slices.SortFunc(kept, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		if len(kept) > limit {
			clear(kept[limit:])
			kept, truncated = kept[:limit], true
		}
	}
	for {
		batch, err := f.ReadDir(4096)
		kept = append(kept, batch...)
		if err == io.EOF {
			cut()
			return kept, truncated, nil
		}
		if err != nil {
			return nil, false, err
		}
		if len(kept) > 2*limit+4096 {
			cut()
		}
	}
}

// describe returns the type and size of an entry. ok is false if it has been removed meanwhile.
func describe(d fs.DirEntry) (e Entry, ok bool) {
	e = Entry{Name: []byte(d.Name()), Type: typeName(d.Type())}
	if !d.Type().IsRegular() {
		return e, true
	}
	info, err := d.Info()
	if err != nil {
		return e, !os.IsNotExist(err)
	}
	e.Type = typeName(info.Mode().Type())
	if info.Mode().IsRegular() {
		size := info.Size()
		e.Size = &size
	}
	return e, true
}

func typeName(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "dir"
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	default:
		return "other"
	}
}
