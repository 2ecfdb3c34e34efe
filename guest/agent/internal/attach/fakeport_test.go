package attach

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"mayfly/agent/internal/port"
)

// fakePort is a port whose host end can be plugged in and pulled out. Like a real port it reads EOF while no host is connected,
// and a write blocks until a host connects.
type fakePort struct {
	mu       sync.Mutex
	conn     net.Conn
	plugged  chan struct{}
	readEnd  time.Time
	writeEnd time.Time
	changed  chan struct{}
}

var _ port.Port = (*fakePort)(nil)

func newFakePort() *fakePort {
	return &fakePort{plugged: make(chan struct{}), changed: make(chan struct{})}
}

// plug connects a new host and returns its end.
func (f *fakePort) plug(t *testing.T) net.Conn {
	t.Helper()
	guest, host := socketPair(t)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conn = guest
	guest.SetReadDeadline(f.readEnd)
	guest.SetWriteDeadline(f.writeEnd)
	f.signal()
	t.Cleanup(func() { host.Close() })
	return host
}

// signal wakes blocked readers and writers. The caller holds mu.
func (f *fakePort) signal() { close(f.changed); f.changed = make(chan struct{}) }

// pull disconnects the host.
func (f *fakePort) pull() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conn.Close()
	f.conn = nil
	f.signal()
}

func (f *fakePort) state() (net.Conn, time.Time, time.Time, chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conn, f.readEnd, f.writeEnd, f.changed
}

func past(t time.Time) bool { return !t.IsZero() && !t.After(time.Now()) }

func (f *fakePort) Read(p []byte) (int, error) {
	conn, end, _, _ := f.state()
	if past(end) {
		return 0, os.ErrDeadlineExceeded
	}
	if conn == nil {
		return 0, io.EOF
	}
	n, err := conn.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

func (f *fakePort) Write(p []byte) (n int, err error) {
	for n < len(p) {
		conn, _, end, changed := f.state()
		if past(end) {
			return n, os.ErrDeadlineExceeded
		}
		if conn == nil {
			select {
			case <-changed:
			case <-time.After(20 * time.Millisecond):
			}
			continue
		}
		m, err := conn.Write(p[n:])
		n += m
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return n, nil
}

func (f *fakePort) SetReadDeadline(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readEnd = t
	if f.conn != nil {
		f.conn.SetReadDeadline(t)
	}
	return nil
}

func (f *fakePort) SetWriteDeadline(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writeEnd = t
	f.signal()
	if f.conn != nil {
		f.conn.SetWriteDeadline(t)
	}
	return nil
}
