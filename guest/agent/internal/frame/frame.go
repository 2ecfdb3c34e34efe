// Package frame encodes bodies that carry more than one thing: 1 byte type, 4 bytes big-endian length, payload.
package frame

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
)

const (
	// MaxPayload is the most bytes one frame may carry.
	MaxPayload = 65536
	// HeaderLen is the size of type and length together.
	HeaderLen = 5
)

// ErrTooLong reports a frame whose length is over MaxPayload.
var ErrTooLong = errors.New("frame: payload over 65536 bytes")

// PutHeader writes the header of a frame with n payload bytes into b, which has at least HeaderLen bytes.
func PutHeader(b []byte, kind byte, n int) {
	b[0] = kind
	binary.BigEndian.PutUint32(b[1:HeaderLen], uint32(n))
}

// Write sends payload as one frame in a single write.
func Write(w io.Writer, kind byte, payload []byte) error {
	if len(payload) > MaxPayload {
		return ErrTooLong
	}
	b := make([]byte, HeaderLen+len(payload))
	PutHeader(b, kind, len(payload))
	copy(b[HeaderLen:], payload)
	_, err := w.Write(b)
	return err
}

// WriteJSON sends v, encoded as JSON, as one frame.
func WriteJSON(w io.Writer, kind byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return Write(w, kind, b)
}

// Reader takes frames from a stream, one at a time.
type Reader struct {
	r   io.Reader
	buf []byte
}

// NewReader reads frames from r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Next returns the next frame; its payload is valid until the following call. A clean end is io.EOF,
// an end inside a frame io.ErrUnexpectedEOF.
func (r *Reader) Next() (kind byte, payload []byte, err error) {
	var head [HeaderLen]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > MaxPayload {
		return 0, nil, ErrTooLong
	}
	if cap(r.buf) < int(n) {
		r.buf = make([]byte, n)
	}
	r.buf = r.buf[:n]
	if _, err := io.ReadFull(r.r, r.buf); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return head[0], r.buf, nil
}
