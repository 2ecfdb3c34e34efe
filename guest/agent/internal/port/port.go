// Package port opens the virtio-serial ports to the host.
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

// Port is a byte stream to the host. Deadlines interrupt reads and writes. Read returns io.EOF while no host is connected and works
// again once one is.
type Port interface {
	io.ReadWriter
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// ErrNoPort reports that there is no port with the given name yet.
var ErrNoPort = errors.New("port: no such port")

// Find returns the device path of the named port, searching the given sysfs.
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

// Open opens the named port. It waits up to the given time for it to appear.
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

// Device is an open port. It is non-blocking, so that Go's poller waits for it and deadlines work.
type Device struct{ f *os.File }

// OpenDevice opens the character device at path. It fails if the device cannot be polled.
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

// Read waits for bytes and returns those that are available. io.EOF means that no host is connected.
func (d *Device) Read(p []byte) (int, error) { return d.f.Read(p) }

// Write writes all of p. It blocks while no host is connected or the host does not read.
func (d *Device) Write(p []byte) (n int, err error) {
	for {
		m, err := d.f.Write(p[n:])
		n += m
		// The driver returns 0 if its ring has just become full, which os.File reports as an unexpected EOF.
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			return n, err
		}
		time.Sleep(time.Millisecond)
	}
}

// SetReadDeadline sets the deadline of current and future reads.
func (d *Device) SetReadDeadline(t time.Time) error { return d.f.SetReadDeadline(t) }

// SetWriteDeadline sets the deadline of current and future writes.
func (d *Device) SetWriteDeadline(t time.Time) error { return d.f.SetWriteDeadline(t) }

// Close closes the port.
func (d *Device) Close() error { return d.f.Close() }

// Backoff spaces out reads on a port without a host: 5 ms at first, up to 20 ms.
type Backoff struct{ next time.Duration }

const (
	minWait = 5 * time.Millisecond
	maxWait = 20 * time.Millisecond
)

// Wait waits for the next delay, or until done is closed.
func (b *Backoff) Wait(done <-chan struct{}) {
	if b.next == 0 {
		b.next = minWait
	}
	t := time.NewTimer(b.next)
	defer t.Stop()
	select {
	case <-t.C:
	case <-done:
	}
	b.next = min(2*b.next, maxWait)
}

// Reset starts again with the shortest delay.
func (b *Backoff) Reset() { b.next = 0 }
