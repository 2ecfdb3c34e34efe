package main

import (
	"fmt"
	"syscall"
)

// Files are read and written by plain system calls: Go's own files would take a low descriptor for their poller, and the
// low descriptors are the program's.

// readFile reads a small file whole.
func readFile(path string) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer syscall.Close(fd)
	var text []byte
	for buffer := make([]byte, 64*1024); ; {
		n, err := syscall.Read(fd, buffer)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if n == 0 {
			return text, nil
		}
		text = append(text, buffer[:n]...)
	}
}

// writeFile writes a control file that exists, in one call.
func writeFile(path, text string) error {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer syscall.Close(fd)
	if _, err := syscall.Write(fd, []byte(text)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
