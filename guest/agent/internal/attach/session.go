package attach

import (
	"io"
	"sync"

	"mayfly/agent/internal/port"
)

// session takes one attach from its announcement to its end.
type session struct {
	nonce string
	lease *lease
	over  sync.WaitGroup
}

// start synchronises and serves in the background.
func (s *Server) start(nonce string) *session {
	session := &session{nonce: nonce, lease: newLease(s.Data, &s.tail)}
	session.over.Add(1)
	go func() {
		defer session.over.Done()
		defer session.lease.release()
		if !session.synchronise(s.tail.last) {
			return
		}
		session.lease.serving.Store(true)
		s.say("ready " + nonce)
		select {
		case s.conns <- session.lease:
		case <-session.lease.done:
		}
		<-session.lease.done
		s.say("ended " + nonce)
	}()
	return session
}

// stop interrupts the session wherever it is and returns when the data port is free.
func (s *session) stop() {
	s.lease.end()
	s.over.Wait()
}

// synchronise drops what came before the host's sync line, of which earlier may hold the beginning, and answers it.
func (s *session) synchronise(earlier []byte) bool {
	line := syncLine(s.nonce)
	finder := syncFinder{pattern: line}
	var backoff port.Backoff
	rest, found := finder.feed(earlier)
	buf := make([]byte, 4096)
	for !found {
		n, err := s.lease.Read(buf)
		if err == io.EOF {
			backoff.Wait(s.lease.done)
		} else if err != nil {
			return false
		} else {
			backoff.Reset()
			rest, found = finder.feed(buf[:n])
		}
	}
	s.lease.unread(rest)
	_, err := s.lease.Write(append([]byte{'\n'}, line...))
	return err == nil
}

// unread puts bytes back in front of what the lease reads next.
func (l *lease) unread(p []byte) {
	l.reading.Lock()
	defer l.reading.Unlock()
	l.buf = append(append([]byte(nil), p...), l.buf...)
}
