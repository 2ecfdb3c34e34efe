// Package port finds and opens the virtio-serial ports to the host.
package port

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Port is a byte stream to the host whose reads and writes a deadline interrupts. Read gives io.EOF while no host is
// connected and works again once one is.
type Port interface {
	io.ReadWriter
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// ErrNoPort reports that no port of the wanted name exists (yet).
var ErrNoPort = errors.New("port: no such port")

// Find returns the device path of the port called name, looking under the sysfs mounted at sys.
func Find(sys fs.FS, name string) (string, error) {
	names, err := fs.Glob(sys, "class/virtio-ports/*/name")
	if err != nil {
		return "", err
	}
	for _, file := range names {
		b, err := fs.ReadFile(sys, file)
		if err == nil && string(bytes.TrimSpace(b)) == name {
			return "/dev/" + filepath.Base(filepath.Dir(file)), nil
		}
	}
	return "", ErrNoPort
}

// Open opens the port called name, waiting for it to appear until the deadline has passed.
func Open(name string, wait time.Duration) (*Device, error) {
	deadline := time.Now().Add(wait)
	for {
		path, err := Find(os.DirFS("/sys"), name)
		if err == nil {
			var d *Device
			if d, err = OpenDevice(path); err == nil {
				return d, nil
			}
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("port %s: %w", name, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Device is an open port. It is non-blocking, so Go's poller waits for it and deadlines work on it.
type Device struct{ f *os.File }

// OpenDevice opens the character device at path and refuses one that cannot be polled.
func OpenDevice(path string) (*Device, error) {
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if err := f.SetDeadline(time.Time{}); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s cannot be polled: %w", path, err)
	}
	return &Device{f}, nil
}

// Read reads what there is, waiting for something; io.EOF means that no host is connected.
func (d *Device) Read(p []byte) (int, error) { return d.f.Read(p) }

// Write writes all of p, waiting while the host is away or does not read.
func (d *Device) Write(p []byte) (n int, err error) {
	for {
		m, err := d.f.Write(p[n:])
		n += m
		// The driver answers 0 when its ring has just filled up; the file takes that for an end.
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			return n, err
		}
		time.Sleep(time.Millisecond)
	}
}

// SetReadDeadline interrupts a blocked read, and lets no later one wait past t.
func (d *Device) SetReadDeadline(t time.Time) error { return d.f.SetReadDeadline(t) }

// SetWriteDeadline interrupts a blocked write, and lets no later one wait past t.
func (d *Device) SetWriteDeadline(t time.Time) error { return d.f.SetWriteDeadline(t) }

// Close gives the port back.
func (d *Device) Close() error { return d.f.Close() }
