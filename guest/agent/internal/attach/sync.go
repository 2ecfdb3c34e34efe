package attach

import "bytes"

// syncLine is what both ends send over the data port to mark the beginning of a session.
func syncLine(nonce string) []byte { return []byte("MAYFLY-SYNC " + nonce + "\n") }

// syncFinder looks for a pattern in a byte stream, whatever pieces it arrives in.
type syncFinder struct {
	pattern []byte
	seen    []byte
}

// feed returns what follows the pattern in p once the pattern is complete.
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

// tail remembers the last bytes read from the data port. A session that has not been interrupted yet may swallow the
// sync line of the next one, which the control port announces only afterwards; the host sends that line only once.
type tail struct{ last []byte }

const tailLen = 128

func (t *tail) note(p []byte) {
	if len(p) >= tailLen {
		t.last = append(t.last[:0], p[len(p)-tailLen:]...)
		return
	}
	if drop := len(t.last) + len(p) - tailLen; drop > 0 {
		t.last = append(t.last[:0], t.last[drop:]...)
	}
	t.last = append(t.last, p...)
}
