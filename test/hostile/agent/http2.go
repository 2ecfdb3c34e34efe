package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

const (
	frameData         = 0
	frameHeaders      = 1
	framePriority     = 2
	frameReset        = 3
	frameSettings     = 4
	framePush         = 5
	framePing         = 6
	frameGoaway       = 7
	frameWindow       = 8
	frameContinuation = 9
	frameAltsvc       = 10
	frameOrigin       = 12

	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4

	prefaceBytes = 24
	headBytes    = 9
)

// status200 is `:status: 200` in HPACK.
var status200 = []byte{0x88}

// http2Frame is one frame, legal or not.
func http2Frame(kind, flags byte, stream uint32, payload []byte) []byte {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(head, stream), payload...)
}

// header is a literal header without indexing. Name and value must be shorter than 127 bytes.
func header(name, value string) []byte {
	b := append([]byte{0, byte(len(name))}, name...)
	return append(append(b, byte(len(value))), value...)
}

// indexed is a header with a long value that is added to the dynamic table.
func indexed(name, value string) []byte {
	b := append([]byte{0x40, byte(len(name))}, name...)
	b = append(b, 0x7f)
	for rest := len(value) - 0x7f; ; rest >>= 7 {
		if rest < 0x80 {
			b = append(b, byte(rest))
			break
		}
		b = append(b, byte(rest)|0x80)
	}
	return append(b, value...)
}

// session is an attached host, at the level of HTTP/2 frames.
type session struct {
	*ports
	buffered []byte
	started  bool
}

// frame reads the next frame of the host.
func (s *session) frame() (kind, flags byte, stream uint32, err error) {
	if !s.started {
		if err := s.fill(prefaceBytes); err != nil {
			return 0, 0, 0, err
		}
		s.buffered, s.started = s.buffered[prefaceBytes:], true
	}
	if err := s.fill(headBytes); err != nil {
		return 0, 0, 0, err
	}
	length := int(s.buffered[0])<<16 | int(s.buffered[1])<<8 | int(s.buffered[2])
	kind, flags, stream = s.buffered[3], s.buffered[4], binary.BigEndian.Uint32(s.buffered[5:])
	if err := s.fill(headBytes + length); err != nil {
		return 0, 0, 0, err
	}
	s.buffered = s.buffered[headBytes+length:]
	return kind, flags, stream, nil
}

func (s *session) fill(want int) error {
	buf := make([]byte, 16384)
	for len(s.buffered) < want {
		n, err := s.read(buf)
		if err != nil {
			return err
		}
		s.buffered = append(s.buffered, buf[:n]...)
	}
	return nil
}

// serve answers hello, identity and small calls correctly and responds to every command with the attack.
func (s *session) serve(attack func(s *session, stream uint32)) {
	s.data.Write(http2Frame(frameSettings, 0, 0, nil))
	for {
		kind, flags, stream, err := s.frame()
		if err != nil {
			return
		}
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			s.data.Write(http2Frame(frameSettings, flagAck, 0, nil))
		case kind == framePing && flags&flagAck == 0:
			s.data.Write(http2Frame(framePing, flagAck, 0, make([]byte, 8)))
		case kind == frameHeaders && stream > 1 && flags&flagEndStream == 0:
			attack(s, stream)
		case kind == frameHeaders:
			s.respond(stream, smallResponse())
		}
	}
}

// respond sends a complete response with a body.
func (s *session) respond(stream uint32, body []byte) {
	s.data.Write(append(http2Frame(frameHeaders, flagEndHeaders, stream, status200), http2Frame(frameData, flagEndStream, stream, body)...))
}

// smallResponse is a valid response to hello, identity and clock.
func smallResponse() []byte {
	return fmt.Appendf(nil, `{"protocol":1,"version":"hostile","kernel":"%s","boot_ms":1,"unix_ns":"%d"}`, strings.Repeat("k", 100), time.Now().UnixNano())
}
