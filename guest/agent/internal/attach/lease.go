package attach

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/agent/internal/port"
)

// lease gives one session exclusive use of the data port. After it has ended, its readers and writers do not touch the port.
type lease struct {
	port port.Port
	tail *tail
	end  func()
	done chan struct{}

	serving atomic.Bool // synchronised; HTTP/2 is being served

	readMu  sync.Mutex
	pending []byte // read from the port, not yet returned by Read
	readBuf []byte

	writeMu sync.Mutex
}

// longAgo is a deadline that interrupts blocked reads and writes immediately.
var longAgo = time.Unix(1, 0)

func newLease(p port.Port, t *tail) *lease {
	l := &lease{port: p, tail: t, done: make(chan struct{}), readBuf: make([]byte, 64<<10)}
	l.end = sync.OnceFunc(func() {
		close(l.done)
		p.SetReadDeadline(longAgo)
		p.SetWriteDeadline(longAgo)
	})
	return l
}

// release ends the lease and returns once the port is free for the next one.
func (l *lease) release() {
	l.end()
	l.readMu.Lock()
	defer l.readMu.Unlock()
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	l.port.SetReadDeadline(time.Time{})
	l.port.SetWriteDeadline(time.Time{})
}

func (l *lease) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// Read returns pending bytes first, then reads from the port in large chunks.
func (l *lease) Read(p []byte) (int, error) {
	l.readMu.Lock()
	defer l.readMu.Unlock()
	if l.ended() {
		return 0, net.ErrClosed
	}
	if len(l.pending) == 0 {
		n, err := l.readPort()
		l.tail.add(l.readBuf[:n])
		if n == 0 {
			return 0, err
		}
		l.pending = l.readBuf[:n]
	}
	n := copy(p, l.pending)
	l.pending = l.pending[n:]
	return n, nil
}

// hostAbsence is how long a session that is being served survives without a host. The kernel may report late that the previous host
// disconnected; a session that has already begun must not mistake that for its own end.
const hostAbsence = time.Second

// readPort reads from the port. While a session is being served, it reports io.EOF only after the host has been away for hostAbsence. A
// session that is still synchronising gets io.EOF immediately, because it has its own backoff.
func (l *lease) readPort() (int, error) {
	n, err := l.port.Read(l.readBuf)
	if n > 0 || err != io.EOF || !l.serving.Load() {
		return n, err
	}
	var backoff port.Backoff
	for since := time.Now(); n == 0 && err == io.EOF && time.Since(since) < hostAbsence && !l.ended(); {
		backoff.Wait(l.done)
		n, err = l.port.Read(l.readBuf)
	}
	return n, err
}

// Write writes all of p, or fails if the lease has ended.
func (l *lease) Write(p []byte) (int, error) {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if l.ended() {
		return 0, net.ErrClosed
	}
	return l.port.Write(p)
}

// Close ends the lease; the port stays open.
func (l *lease) Close() error {
	l.end()
	return nil
}

type address struct{}

func (address) Network() string { return "virtio" }
func (address) String() string  { return "mayfly.data" }

// The remaining methods of net.Conn. The lease sets deadlines itself, so those of the HTTP server are ignored.
func (l *lease) LocalAddr() net.Addr              { return address{} }
func (l *lease) RemoteAddr() net.Addr             { return address{} }
func (l *lease) SetDeadline(time.Time) error      { return nil }
func (l *lease) SetReadDeadline(time.Time) error  { return nil }
func (l *lease) SetWriteDeadline(time.Time) error { return nil }
