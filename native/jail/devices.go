package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// devices are the only ones that a jail may contain. Owned ones can be opened by the program alone.
var devices = map[string]struct{ owned bool }{
	"null":    {},
	"zero":    {},
	"full":    {},
	"random":  {},
	"urandom": {},
	"kvm":     {owned: true},
	"net/tun": {owned: true},
}

// makeDevices creates the device nodes in the jail's own /dev, regardless of the permissions of the host's nodes.
func makeDevices(s *spec) error {
	dev := staging + "/dev"
	if err := os.Mkdir(dev, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("mayfly", dev, "tmpfs", syscall.MS_NOSUID|syscall.MS_NOEXEC, rootOptions); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for _, name := range s.Devices {
		kind, known := devices[name]
		if !known {
			return fmt.Errorf("device %q is not allowed in a jail", name)
		}
		if err := makeNode(dev, name, kind.owned, s); err != nil {
			return fmt.Errorf("device %s: %w", name, err)
		}
	}
	return syscall.Mount("", dev, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NOEXEC, "")
}

func makeNode(dev, name string, owned bool, s *spec) error {
	var host syscall.Stat_t
	if err := syscall.Stat("/dev/"+name, &host); err != nil {
		return err
	}
	if host.Mode&syscall.S_IFMT != syscall.S_IFCHR {
		return syscall.ENODEV
	}
	path := filepath.Join(dev, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := syscall.Mknod(path, syscall.S_IFCHR|0o600, int(host.Rdev)); err != nil {
		return err
	}
	if owned {
		return os.Lchown(path, int(s.UID), int(s.GID))
	}
	return os.Chmod(path, 0o666)
}
