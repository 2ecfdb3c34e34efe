package main

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"time"

	"mayfly/agent/internal/port"
)

// ports are both ports, taken from the real agent.
type ports struct{ control, data *port.Device }

var errNewAttach = errors.New("the host attaches again")

var attachLine = regexp.MustCompile(`attach ([0-9a-f]{32})\n`)

// attaches sends the nonce of every new attach and interrupts reads and writes on the data port.
func (p *ports) attaches() <-chan string {
	nonces := make(chan string, 16)
	go func() {
		var buffered []byte
		last := ""
		buf := make([]byte, 4096)
		for {
			n, err := p.control.Read(buf)
			if err != nil {
				time.Sleep(2 * time.Millisecond)
				continue
			}
			buffered = append(buffered, buf[:n]...)
			for found := attachLine.FindSubmatchIndex(buffered); found != nil; found = attachLine.FindSubmatchIndex(buffered) {
				if nonce := string(buffered[found[2]:found[3]]); nonce != last {
					last = nonce
					p.data.SetReadDeadline(time.Unix(1, 0))
					p.data.SetWriteDeadline(time.Unix(1, 0))
					nonces <- nonce
				}
				buffered = buffered[found[1]:]
			}
			buffered = buffered[max(0, len(buffered)-100):]
		}
	}()
	return nonces
}

// read reads from the data port. While no host is connected, it waits.
func (p *ports) read(buf []byte) (int, error) {
	for {
		n, err := p.data.Read(buf)
		if n > 0 {
			return n, nil
		}
		if err != io.EOF {
			return 0, errNewAttach
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// synchronise answers an attach according to the protocol and returns the bytes after the host's marker.
func (p *ports) synchronise(nonce string) ([]byte, error) {
	marker := []byte("\nMAYFLY-SYNC " + nonce + "\n")
	var seen []byte
	buf := make([]byte, 4096)
	for {
		n, err := p.read(buf)
		if err != nil {
			return nil, err
		}
		seen = append(seen, buf[:n]...)
		if at := bytes.Index(seen, marker); at >= 0 {
			if _, err := p.data.Write(marker); err != nil {
				return nil, err
			}
			// In a mode that floods the control port, this line may never be sent.
			go p.control.Write([]byte("ready " + nonce + "\n"))
			return seen[at+len(marker):], nil
		}
		seen = seen[max(0, len(seen)-len(marker)):]
	}
}

// eachAttach breaks the current session of the host and then calls a function on every attach, forever.
func (p *ports) eachAttach(do func(nonce string, rest []byte)) {
	p.data.SetWriteDeadline(time.Now().Add(time.Second))
	p.data.Write(bytes.Repeat([]byte{0xff}, 100_000))
	nonces := p.attaches()
	for nonce := range nonces {
		p.data.SetReadDeadline(time.Time{})
		p.data.SetWriteDeadline(time.Time{})
		if rest, err := p.synchronise(nonce); err == nil {
			do(nonce, rest)
		}
	}
}

// repeat writes a piece until the port fails.
func repeat(w io.Writer, piece []byte) {
	for {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

// forever writes a piece forever.
func forever(w io.Writer, piece []byte) {
	for {
		repeat(w, piece)
		time.Sleep(time.Millisecond)
	}
}
