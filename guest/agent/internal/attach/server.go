// Package attach serves HTTP/2 on the data port, and starts it afresh whenever the control port says so.
package attach

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"mayfly/agent/internal/port"
)

// Server answers the host on two ports, one session at a time.
type Server struct {
	Control, Data port.Port
	Handler       http.Handler

	tail      tail
	conns     chan net.Conn
	lines     chan string
	connected atomic.Bool
}

// Connected reports whether a host holds the control port.
func (s *Server) Connected() bool { return s.connected.Load() }

// Run serves until the context ends or the control port fails for good.
func (s *Server) Run(ctx context.Context) error {
	s.conns, s.lines = make(chan net.Conn), make(chan string, 8)
	server := newHTTPServer(s.Handler)
	go server.Serve(&listener{s.conns, ctx})
	go s.speak(ctx)
	s.say("started")
	stop := context.AfterFunc(ctx, func() { s.Control.SetReadDeadline(longAgo) })
	defer stop()
	defer server.Close()

	var current *session
	defer func() {
		if current != nil {
			current.stop()
		}
	}()
	return s.listen(ctx, func(nonce string) {
		if current != nil && current.nonce == nonce {
			return
		}
		if current != nil {
			current.stop()
		}
		current = s.start(nonce)
	})
}

// listen calls attach for each attach line on the control port.
func (s *Server) listen(ctx context.Context, attach func(nonce string)) error {
	var scanner lineScanner
	var backoff port.Backoff
	buf := make([]byte, 1024)
	for {
		n, err := s.Control.Read(buf)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == io.EOF {
			s.connected.Store(false)
			backoff.Wait(ctx.Done())
			continue
		}
		if err != nil {
			return err
		}
		s.connected.Store(true)
		backoff.Reset()
		scanner.feed(buf[:n], func(line []byte) {
			if nonce := parseAttach(line); nonce != "" {
				attach(nonce)
			}
		})
	}
}

// say queues a line for the host; where nobody reads, lines are lost rather than waited for.
func (s *Server) say(line string) {
	select {
	case s.lines <- line:
	default:
	}
}

// speak writes the queued lines to the control port.
func (s *Server) speak(ctx context.Context) {
	broken := true
	for {
		select {
		case <-ctx.Done():
			return
		case line := <-s.lines:
			if broken {
				line = "\n" + line
			}
			s.Control.SetWriteDeadline(time.Now().Add(time.Second))
			n, err := s.Control.Write([]byte(line + "\n"))
			broken = err != nil && (n > 0 || broken)
		}
	}
}
