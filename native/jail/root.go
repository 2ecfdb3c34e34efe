package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// staging is where the new root is built. Every host has this folder, and no jail may bind it.
const staging = "/sys"

// rootOptions limit the file system of the jail's folders and device nodes. No file in it has content.
const rootOptions = "mode=0755,size=64k,nr_inodes=256"

const restricted = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC

// buildRoot mounts a new root that contains only the binds and devices of the specification. The host's mounts do not change.
func buildRoot(s *spec) error {
	if err := mountRoot(); err != nil {
		return err
	}
	return fillRoot(s)
}

// mountRoot mounts an empty root.
func mountRoot() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := syscall.Mount("mayfly", staging, "tmpfs", restricted, rootOptions); err != nil {
		return fmt.Errorf("mount a root: %w", err)
	}
	return nil
}

// fillRoot adds the binds and devices.
func fillRoot(s *spec) error {
	syscall.Umask(0o022)
	defer syscall.Umask(0o077)
	for _, b := range s.Binds {
		if err := showBind(b); err != nil && !(b.Optional && errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("bind %s: %w", b.Path, err)
		}
	}
	if err := copyLinks(); err != nil {
		return err
	}
	return makeDevices(s)
}

// showBind mounts a file or folder of the host at the same path in the new root, without the mounts inside it.
func showBind(b bind) error {
	var info syscall.Stat_t
	if err := syscall.Stat(b.Path, &info); err != nil {
		return err
	}
	// A folder that is bound already may contain links, also absolute ones.
	inView, err := resolve(staging, b.Path, nil)
	if err != nil {
		return err
	}
	target := staging + inView
	if err := makeTarget(target, info.Mode&syscall.S_IFMT == syscall.S_IFDIR); err != nil {
		return err
	}
	if err := syscall.Mount(b.Path, target, "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	return syscall.Mount("", target, "", syscall.MS_BIND|syscall.MS_REMOUNT|bindFlags(b.Mode), "")
}

func bindFlags(mode string) uintptr {
	switch mode {
	case "rw":
		return restricted
	case "exec":
		return syscall.MS_RDONLY | syscall.MS_NOSUID | syscall.MS_NODEV
	default:
		return syscall.MS_RDONLY | restricted
	}
}

func makeTarget(target string, isFolder bool) error {
	if isFolder {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if err := syscall.Mknod(target, syscall.S_IFREG|0o444, 0); err != nil && err != syscall.EEXIST {
		return err
	}
	return nil
}

// copyLinks copies the top-level links of a host that keeps all system files in /usr.
func copyLinks() error {
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		to, err := os.Readlink(name)
		if err != nil {
			continue
		}
		if err := os.Symlink(to, staging+name); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// enterRoot makes the new root read-only and switches to it for good.
func enterRoot(*spec) error {
	if err := syscall.Mount("", staging, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|restricted, ""); err != nil {
		return fmt.Errorf("make it read-only: %w", err)
	}
	if err := syscall.Chdir(staging); err != nil {
		return err
	}
	if err := syscall.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot: %w", err)
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the host: %w", err)
	}
	return syscall.Chdir("/")
}
