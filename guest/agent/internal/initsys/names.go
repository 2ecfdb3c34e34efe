package initsys

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// namesDir is where the files live that an identity rewrites. In memory, because writing them is on the way to a
// sandbox's first command and the disk's journal costs ten times as much under emulation.
const namesDir = "/run/names"

// mountNames puts the files that say who the machine is over those of the image.
func mountNames() error {
	if err := os.MkdirAll(namesDir, 0o755); err != nil {
		return err
	}
	var failures []error
	for _, name := range []string{"/etc/hostname", "/etc/machine-id", "/etc/hosts"} {
		content, err := os.ReadFile(name)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		copied := filepath.Join(namesDir, filepath.Base(name))
		if err := os.WriteFile(copied, content, 0o644); err != nil {
			failures = append(failures, err)
			continue
		}
		failures = append(failures, os.NewSyscallError("mount "+name, syscall.Mount(copied, name, "", syscall.MS_BIND, "")))
	}
	return errors.Join(failures...)
}
