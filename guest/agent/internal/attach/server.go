// Package attach serves HTTP/2 on the data port and starts a new session for every attach line on the control port.
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

// Server serves the host on two ports, one session at a time.
type Server struct {
	Control, Data port.Port
	Handler       http.Handler

	tail      tail
	conns     chan net.Conn
	lines     chan string
	connected atomic.Bool
}

// Connected reports whether a host is connected to the control port.
func (s *Server) Connected() bool { return s.connected.Load() }

// Run serves until the context ends or the control port fails.
func (s *Server) Run(ctx context.Context) error {
	s.conns, s.lines = make(chan net.Conn), make(chan string, 8)
	server := newHTTPServer(s.Handler)
	go server.Serve(&listener{s.conns, ctx})
	go s.writeLines(ctx)
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

// say queues a control line for the host. If the queue is full because no host reads, the line is dropped.
func (s *Server) say(line string) {
	select {
	case s.lines <- line:
	default:
	}
}

// writeLines writes the queued lines to the control port. A line after a partial write starts with a newline.
func (s *Server) writeLines(ctx context.Context) {
	partial := true
	for {
		select {
		case <-ctx.Done():
			return
		case line := <-s.lines:
			if partial {
				line = "\n" + line
			}
			s.Control.SetWriteDeadline(time.Now().Add(time.Second))
			n, err := s.Control.Write([]byte(line + "\n"))
			partial = err != nil && (n > 0 || partial)
		}
	}
}
