package main

import (
	"fmt"
	"syscall"
)

// leaveNamespaces gives the program its own mounts, System V objects and host name, and the network of the specification.
func leaveNamespaces(s *spec) error {
	flags := syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	switch s.Network {
	case "host":
	case "none":
		flags |= syscall.CLONE_NEWNET
	default:
		if err := joinNetwork(s.Network); err != nil {
			return fmt.Errorf("network %s: %w", s.Network, err)
		}
	}
	if err := syscall.Unshare(flags); err != nil {
		return err
	}
	return syscall.Sethostname([]byte("mayfly"))
}

func joinNetwork(path string) error {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if _, _, errno := syscall.RawSyscall(sysSetns, uintptr(fd), syscall.CLONE_NEWNET, 0); errno != 0 {
		return errno
	}
	return nil
}
