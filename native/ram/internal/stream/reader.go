// Package stream finds the parts of QEMU's migration files. All bytes are untrusted: every length is checked against the file's size, and
// every step goes forward, so that parsing ends.
package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const bufferBytes = 64 << 10

// reader reads numbers and strings from a position of a file. After the first error it returns zeros; err has that error.
type reader struct {
	file     io.ReaderAt
	size     uint64
	position uint64
	err      error

	buffer []byte
	// The part of the file that is in buffer.
	start uint64
	count uint64
}

func newReader(file io.ReaderAt, size uint64) *reader {
	return &reader{file: file, size: size, buffer: make([]byte, bufferBytes)}
}

func (r *reader) fail(format string, arguments ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d: %w", r.position, fmt.Errorf(format, arguments...))
	}
}

// left is the number of bytes after the position.
func (r *reader) left() uint64 { return r.size - r.position }

// take returns the next bytes, at most 256 of them, which are valid until the next call. It returns nil after an error.
func (r *reader) take(count uint64) []byte {
	if r.err == nil && count > r.left() {
		r.fail("%w", io.ErrUnexpectedEOF)
	}
	if r.err != nil {
		return nil
	}
	if r.position < r.start || r.position+count > r.start+r.count {
		r.fill()
	}
	from := r.position - r.start
	if r.err != nil || from+count > r.count {
		r.fail("%w", io.ErrUnexpectedEOF)
		return nil
	}
	r.position += count
	return r.buffer[from : from+count]
}

func (r *reader) fill() {
	count, err := r.file.ReadAt(r.buffer[:min(bufferBytes, r.left())], int64(r.position))
	if err != nil && !errors.Is(err, io.EOF) {
		r.fail("%w", err)
	}
	r.start, r.count = r.position, uint64(count)
}

func (r *reader) byte() byte {
	if bytes := r.take(1); bytes != nil {
		return bytes[0]
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if bytes := r.take(4); bytes != nil {
		return binary.BigEndian.Uint32(bytes)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if bytes := r.take(8); bytes != nil {
		return binary.BigEndian.Uint64(bytes)
	}
	return 0
}

// name reads a string of up to 255 bytes, which its length precedes.
func (r *reader) name() string { return string(r.take(uint64(r.byte()))) }

func (r *reader) skip(count uint64) {
	if r.err == nil && count > r.left() {
		r.fail("%w", io.ErrUnexpectedEOF)
	}
	if r.err == nil {
		r.position += count
	}
}
