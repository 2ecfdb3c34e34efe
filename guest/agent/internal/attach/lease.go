package attach

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/agent/internal/port"
)

// lease is one session's hold on the data port. Once it has ended, none of its readers or writers touches the port again.
type lease struct {
	port port.Port
	tail *tail
	end  func()
	done chan struct{}

	serving atomic.Bool // HTTP/2 has begun

	reading sync.Mutex
	buf     []byte // read from the port, not yet asked for
	space   []byte

	writing sync.Mutex
}

var longAgo = time.Unix(1, 0)

func newLease(p port.Port, t *tail) *lease {
	l := &lease{port: p, tail: t, done: make(chan struct{}), space: make([]byte, 64<<10)}
	l.end = sync.OnceFunc(func() {
		close(l.done)
		p.SetReadDeadline(longAgo)
		p.SetWriteDeadline(longAgo)
	})
	return l
}

// release ends the lease and returns when the port is free for the next one.
func (l *lease) release() {
	l.end()
	l.reading.Lock()
	defer l.reading.Unlock()
	l.writing.Lock()
	defer l.writing.Unlock()
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

// Read gives buffered bytes first, then reads from the port in large pieces.
func (l *lease) Read(p []byte) (int, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	if l.ended() {
		return 0, net.ErrClosed
	}
	if len(l.buf) == 0 {
		n, err := l.readPort()
		l.tail.note(l.space[:n])
		if n == 0 {
			return 0, err
		}
		l.buf = l.space[:n]
	}
	n := copy(p, l.buf)
	l.buf = l.buf[n:]
	return n, nil
}

// maxAbsence is how long a served session outlives its host. The kernel may tell of the end of the host before, late: a
// session that has begun already must not take that for its own end.
const maxAbsence = time.Second

// readPort reads from the port, and reports its end only once the host has been away for maxAbsence. A session that still
// synchronises is told at once, as it waits by itself.
func (l *lease) readPort() (int, error) {
	n, err := l.port.Read(l.space)
	if n > 0 || err != io.EOF || !l.serving.Load() {
		return n, err
	}
	var backoff port.Backoff
	for since := time.Now(); n == 0 && err == io.EOF && time.Since(since) < maxAbsence && !l.ended(); {
		backoff.Wait(l.done)
		n, err = l.port.Read(l.space)
	}
	return n, err
}

// Write writes all of p, or fails because the lease has ended.
func (l *lease) Write(p []byte) (int, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
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

// LocalAddr and the rest make a lease a net.Conn. Deadlines are the lease's own, so those of the HTTP server are ignored.
func (l *lease) LocalAddr() net.Addr              { return address{} }
func (l *lease) RemoteAddr() net.Addr             { return address{} }
func (l *lease) SetDeadline(time.Time) error      { return nil }
func (l *lease) SetReadDeadline(time.Time) error  { return nil }
func (l *lease) SetWriteDeadline(time.Time) error { return nil }
