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

// header is one literal header that enters no table; both texts shorter than 127 bytes.
func header(name, value string) []byte {
	b := append([]byte{0, byte(len(name))}, name...)
	return append(append(b, byte(len(value))), value...)
}

// indexed is a header with a long value that enters the table.
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

// session is an attached host that is spoken to byte by byte.
type session struct {
	*ports
	held  []byte
	begun bool
}

// frame reads the host's next frame.
func (s *session) frame() (kind, flags byte, stream uint32, err error) {
	if !s.begun {
		if err := s.fill(prefaceBytes); err != nil {
			return 0, 0, 0, err
		}
		s.held, s.begun = s.held[prefaceBytes:], true
	}
	if err := s.fill(headBytes); err != nil {
		return 0, 0, 0, err
	}
	length := int(s.held[0])<<16 | int(s.held[1])<<8 | int(s.held[2])
	kind, flags, stream = s.held[3], s.held[4], binary.BigEndian.Uint32(s.held[5:])
	if err := s.fill(headBytes + length); err != nil {
		return 0, 0, 0, err
	}
	s.held = s.held[headBytes+length:]
	return kind, flags, stream, nil
}

func (s *session) fill(want int) error {
	buf := make([]byte, 16384)
	for len(s.held) < want {
		n, err := s.read(buf)
		if err != nil {
			return err
		}
		s.held = append(s.held, buf[:n]...)
	}
	return nil
}

// serve answers hello, identity and small calls well, and gives every command to the attack.
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
			s.answer(stream, anyAnswer())
		}
	}
}

// answer is a whole answer with a body.
func (s *session) answer(stream uint32, body []byte) {
	s.data.Write(append(http2Frame(frameHeaders, flagEndHeaders, stream, status200), http2Frame(frameData, flagEndStream, stream, body)...))
}

// anyAnswer is what hello, identity and clock all take.
func anyAnswer() []byte {
	return fmt.Appendf(nil, `{"protocol":1,"version":"hostile","kernel":"%s","boot_ms":1,"unix_ns":"%d"}`, strings.Repeat("k", 100), time.Now().UnixNano())
}
