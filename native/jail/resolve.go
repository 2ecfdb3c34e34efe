package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is the kernel's own limit.
const maxLinks = 40

// resolve follows the links of a path as a process with this root would, and returns a path without links. What does not exist is kept as it is.
// It refuses to follow a link that lies in one of the untrusted folders, and a path that ends in one.
func resolve(root, path string, untrusted []string) (string, error) {
	resolved, rest, links := "/", strings.Split(path, "/"), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		next := filepath.Join(resolved, name)
		if isBelow(next, untrusted) {
			return "", fmt.Errorf("%s is in a folder that the service can write to", next)
		}
		to, err := os.Readlink(root + next)
		if errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrNotExist) {
			resolved = next
			continue
		}
		if err != nil {
			return "", err
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		if filepath.IsAbs(to) {
			resolved = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return resolved, nil
}

// isBelow reports whether a path is inside one of these folders.
func isBelow(path string, folders []string) bool {
	for _, folder := range folders {
		if strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}

// checkSources refuses binds whose path leads through a folder that the service can write to: it could choose what root shows it.
func checkSources(s *spec) error {
	var writable []string
	for _, b := range s.Binds {
		if b.Mode != "rw" {
			continue
		}
		real, err := resolve("", b.Path, nil)
		if err != nil {
			return fmt.Errorf("bind %s: %w", b.Path, err)
		}
		writable = append(writable, b.Path, real)
	}
	for _, b := range s.Binds {
		if _, err := resolve("", b.Path, writable); err != nil {
			return fmt.Errorf("bind %s: %w", b.Path, err)
		}
	}
	return nil
}
