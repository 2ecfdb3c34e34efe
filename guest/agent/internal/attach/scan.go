package attach

import "bytes"

// maxLine is the maximum length of a control line. Longer lines are ignored.
const maxLine = 256

// lineScanner splits a byte stream into lines, regardless of how it is chunked.
type lineScanner struct {
	line    []byte
	tooLong bool
}

// feed calls onLine for each line that p completes, without its newline. The line is valid only during the call.
func (s *lineScanner) feed(p []byte, onLine func(line []byte)) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part = p[:i]
		}
		if len(s.line)+len(part) > maxLine {
			s.tooLong = true
		} else if !s.tooLong {
			s.line = append(s.line, part...)
		}
		if i < 0 {
			return
		}
		if !s.tooLong {
			onLine(s.line)
		}
		s.line, s.tooLong = s.line[:0], false
		p = p[i+1:]
	}
}

// parseAttach returns the nonce of an `attach <nonce>` line, or "" for any other line.
func parseAttach(line []byte) string {
	nonce, ok := bytes.CutPrefix(line, []byte("attach "))
	if !ok || len(nonce) != 32 {
		return ""
	}
	for _, c := range nonce {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
	}
	return string(nonce)
}

// syncLine is the line that both ends send over the data port to mark the start of a session.
func syncLine(nonce string) []byte { return []byte("MAYFLY-SYNC " + nonce + "\n") }

// syncFinder searches a byte stream for a pattern, regardless of how the stream is chunked.
type syncFinder struct {
	pattern []byte
	seen    []byte
}

// feed returns the bytes after the pattern once the pattern is complete.
func (f *syncFinder) feed(p []byte) (rest []byte, found bool) {
	f.seen = append(f.seen, p...)
	if i := bytes.Index(f.seen, f.pattern); i >= 0 {
		return f.seen[i+len(f.pattern):], true
	}
	if keep := len(f.pattern) - 1; len(f.seen) > keep {
		f.seen = append(f.seen[:0], f.seen[len(f.seen)-keep:]...)
	}
	return nil, false
}

// tail holds the last bytes read from the data port. A session that has not been interrupted yet may consume the sync line of the
// next one before the control port announces it, and the host sends that line only once.
type tail struct{ last []byte }

const tailLen = 128

func (t *tail) add(p []byte) {
	if len(p) >= tailLen {
		t.last = append(t.last[:0], p[len(p)-tailLen:]...)
		return
	}
	if drop := len(t.last) + len(p) - tailLen; drop > 0 {
		t.last = append(t.last[:0], t.last[drop:]...)
	}
	t.last = append(t.last, p...)
}
