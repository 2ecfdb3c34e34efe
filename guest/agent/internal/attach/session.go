package attach

import (
	"io"
	"sync"

	"mayfly/agent/internal/port"
)

// session is one attach, from its control line to its end.
type session struct {
	nonce string
	lease *lease
	done  sync.WaitGroup
}

// start synchronises with the host and serves it in the background.
func (s *Server) start(nonce string) *session {
	session := &session{nonce: nonce, lease: newLease(s.Data, &s.tail)}
	session.done.Add(1)
	go func() {
		defer session.done.Done()
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

// stop interrupts the session and returns once the data port is free.
func (s *session) stop() {
	s.lease.end()
	s.done.Wait()
}

// synchronise discards bytes up to the host's sync line and replies with the same line. The beginning of the line may be in earlier,
// the last bytes that the previous session read. Reports whether it succeeded.
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

// unread puts bytes back, so that the lease returns them first.
func (l *lease) unread(p []byte) {
	l.readMu.Lock()
	defer l.readMu.Unlock()
	l.pending = append(append([]byte(nil), p...), l.pending...)
}
