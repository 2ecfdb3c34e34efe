package attach

import "bytes"

// maxLine is the longest control line that counts; longer ones are ignored whole.
const maxLine = 256

// lineScanner cuts a byte stream into lines, whatever pieces it arrives in.
type lineScanner struct {
	line    []byte
	tooLong bool
}

// feed calls got for each line that p completes, without its newline. The line is valid during the call.
func (s *lineScanner) feed(p []byte, got func(line []byte)) {
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
			got(s.line)
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
