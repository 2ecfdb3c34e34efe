package port

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

func TestFindByName(t *testing.T) {
	sys := fstest.MapFS{
		"class/virtio-ports/vport1p1/name": {Data: []byte("mayfly.control\n")},
		"class/virtio-ports/vport3p2/name": {Data: []byte("mayfly.data\n")},
	}
	if got, err := Find(sys, "mayfly.data"); err != nil || got != "/dev/vport3p2" {
		t.Fatalf("got %q, %v", got, err)
	}
	if _, err := Find(sys, "mayfly"); !errors.Is(err, ErrNoPort) {
		t.Fatalf("got %v", err)
	}
}

// A FIFO opened for reading and writing blocks like a port: reads while it is empty, writes while it is full.
func TestDeadlinesInterrupt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDevice(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ended := make(chan error, 1)
	go func() { _, err := d.Read(make([]byte, 1)); ended <- err }()
	d.SetReadDeadline(time.Unix(1, 0))
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read: %v", err)
	}
	go func() { _, err := d.Write(make([]byte, 1<<20)); ended <- err }()
	d.SetWriteDeadline(time.Unix(1, 0))
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("write: %v", err)
	}
}

func TestBackoffIsBounded(t *testing.T) {
	var b Backoff
	done := make(chan struct{})
	close(done)
	for range 5 {
		b.Wait(done)
	}
	if b.next != maxWait {
		t.Fatalf("next wait %v", b.next)
	}
	b.Reset()
	b.Wait(done)
	if b.next != 2*minWait {
		t.Fatalf("after reset %v", b.next)
	}
}
