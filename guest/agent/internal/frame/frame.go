// Package frame encodes bodies that consist of several parts. A frame is 1 byte type, 4 bytes big-endian length and the payload.
package frame

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
)

const (
	// MaxPayload is the maximum size of a payload in bytes.
	MaxPayload = 65536
	// HeaderLen is the size of the type and the length in bytes.
	HeaderLen = 5
)

// ErrTooLong reports a frame whose payload exceeds MaxPayload.
var ErrTooLong = errors.New("frame: payload exceeds 65536 bytes")

// PutHeader writes the header of a frame with n payload bytes to b, which must have at least HeaderLen bytes.
func PutHeader(b []byte, kind byte, n int) {
	b[0] = kind
	binary.BigEndian.PutUint32(b[1:HeaderLen], uint32(n))
}

// Write writes payload as one frame in a single write.
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

// WriteJSON writes v as JSON in one frame.
func WriteJSON(w io.Writer, kind byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return Write(w, kind, b)
}

// Reader reads frames from a stream.
type Reader struct {
	r   io.Reader
	buf []byte
}

// NewReader returns a Reader that reads from r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Next returns the next frame. Its payload is valid until the next call. The error is io.EOF at the end of the stream and
// io.ErrUnexpectedEOF if it ends within a frame.
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
