package main

import (
	"bytes"
	"crypto/rand"
	"strings"
	"time"

	"mayfly/agent/internal/port"
)

// takeovers are the modes that take over the ports.
var takeovers = map[string]func(p *ports){
	"garbage-on-data":  func(p *ports) { go p.drain(); forever(p.data, noise()) },
	"zeros-on-data":    func(p *ports) { go p.drain(); forever(p.data, make([]byte, 1<<20)) },
	"bytes-one-by-one": func(p *ports) { go p.drain(); forever(p.data, []byte{'M'}) },
	"near-markers": func(p *ports) {
		go p.drain()
		forever(p.data, bytes.Repeat([]byte("\nMAYFLY-SYNC 0123456789abcdef"), 4096))
	},
	"garbage-on-control": func(p *ports) { go p.drain(); forever(p.control, noise()) },
	"silent":             func(p *ports) { sleepForever() },
	"ignore-attach":      func(p *ports) { p.drain() },
	"marker-then-silent": func(p *ports) { p.eachAttach(func(string, []byte) {}) },
	"marker-then-noise":  func(p *ports) { p.eachAttach(func(string, []byte) { repeat(p.data, noise()) }) },
	"marker-then-text": func(p *ports) {
		p.eachAttach(func(string, []byte) { p.data.Write([]byte("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")) })
	},
	"old-markers": func(p *ports) {
		old := ""
		p.eachAttach(func(nonce string, _ []byte) {
			repeat(p.data, []byte("\nMAYFLY-SYNC "+nonce+"\n\nMAYFLY-SYNC "+old+"\n"))
			old = nonce
		})
	},
	"reopen-ports":          reopenPorts,
	"flood-on-control":      floodControl(bytes.Repeat([]byte("x"), 1<<20)),
	"lines-on-control":      floodControl(bytes.Repeat([]byte("started\nended 00000000000000000000000000000000\nready x\n\n"), 4096)),
	"bytes-on-control":      floodControl([]byte("\n")),
	"ping-flood":            onCommand(flooding(http2Frame(framePing, 0, 0, make([]byte, 8)))),
	"ping-flood-read":       onCommand(floodingWhileReading(http2Frame(framePing, 0, 0, make([]byte, 8)))),
	"unsolicited-ping-acks": onCommand(flooding(http2Frame(framePing, flagAck, 0, make([]byte, 8)))),
	"settings-flood":        onCommand(flooding(http2Frame(frameSettings, 0, 0, []byte{0, 4, 0, 0, 0x40, 0}))),
	"settings-flood-read":   onCommand(floodingWhileReading(http2Frame(frameSettings, 0, 0, []byte{0, 4, 0, 0, 0x40, 0}))),
	"unsolicited-acks":      onCommand(flooding(http2Frame(frameSettings, flagAck, 0, nil))),
	"origin-flood":          onCommand(flooding(http2Frame(frameOrigin, 0, 0, nil))),
	"altsvc-flood":          onCommand(flooding(http2Frame(frameAltsvc, 0, 0, []byte("\x00\x08http://ah2=\":1\"")))),
	"late-data-flood":       onCommand(lateData),
	"window-flood":          onCommand(flooding(http2Frame(frameWindow, 0, 0, []byte{0, 0, 0, 1}))),
	"priority-flood":        onCommand(flooding(http2Frame(framePriority, 0, 1, []byte{0, 0, 0, 3, 1}))),
	"unknown-frame-flood":   onCommand(flooding(http2Frame(0xee, 0xff, 7, make([]byte, 30)))),
	"reset-flood":           onCommand(onStream(func(n uint32) []byte { return http2Frame(frameReset, 0, n, []byte{0, 0, 0, 8}) })),
	"empty-data-flood":      onCommand(onStream(func(n uint32) []byte { return http2Frame(frameData, 0, n, nil) })),
	"padding-flood":         onCommand(onStream(func(n uint32) []byte { return http2Frame(frameData, 8, n, append([]byte{250}, make([]byte, 250)...)) })),
	"informational-flood":   onCommand(onStream(func(n uint32) []byte { return http2Frame(frameHeaders, flagEndHeaders, n, header(":status", "103")) })),
	"pushed-streams":        onCommand(manyStreams(pushed)),
	"thousands-of-streams":  onCommand(manyStreams(func(n, _ uint32) []byte { return http2Frame(frameHeaders, flagEndHeaders, n, status200) })),
	"unsolicited-responses": onCommand(manyStreams(func(n, _ uint32) []byte { return http2Frame(frameHeaders, 5, n+1, status200) })),
	"endless-continuation":  onCommand(endlessContinuation),
	"header-bomb":           onCommand(headerBomb),
	"header-size-lie": onCommand(func(s *session, n uint32) {
		s.data.Write(http2Frame(frameHeaders, flagEndHeaders, n, []byte{0x88, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0x0f}))
	}),
	"table-size-lie": onCommand(func(s *session, n uint32) {
		s.data.Write(http2Frame(frameHeaders, flagEndHeaders, n, []byte{0x3f, 0xff, 0xff, 0xff, 0x0f, 0x88}))
	}),
	"content-length-short": onCommand(wrongLength("5", strings.Repeat("x", 1000))),
	"content-length-long":  onCommand(wrongLength("99999999999999", string(validResult()))),
	"content-length-odd":   onCommand(wrongLength("-1e9", string(validResult()))),
	"huge-http2-frame": onCommand(func(s *session, n uint32) {
		s.respondHead(n)
		repeat(s.data, http2Frame(frameData, 0, n, make([]byte, 1<<24-1)))
	}),
	"frame-length-lie": onCommand(func(s *session, n uint32) {
		s.respondHead(n)
		s.data.Write(append([]byte{0, 0x40, 0, 0, 0, 0, 0, 0, byte(n)}, "short"...))
	}),
	"more-than-the-window": onCommand(func(s *session, n uint32) {
		s.respondHead(n)
		repeat(s.data, http2Frame(frameData, 0, n, make([]byte, 16384)))
	}),
	"goaway": onCommand(func(s *session, n uint32) {
		s.data.Write(http2Frame(frameGoaway, 0, 0, append(make([]byte, 8), noise()[:10000]...)))
	}),
	"stops-reading": onCommand(func(s *session, n uint32) { sleepForever() }),
	"status-lies": onCommand(func(s *session, n uint32) {
		s.data.Write(http2Frame(frameHeaders, flagEndHeaders, n, header(":status", "99999")))
	}),
	"trailers-without-end": onCommand(func(s *session, n uint32) {
		s.respondHead(n)
		repeat(s.data, http2Frame(frameHeaders, flagEndHeaders, n, header("x", "y")))
	}),
}

// sleepForever blocks without a deadlock panic, which Go raises when all goroutines are blocked.
func sleepForever() {
	for {
		time.Sleep(time.Hour)
	}
}

func noise() []byte {
	b := make([]byte, 64<<10)
	_, _ = rand.Read(b)
	return b
}

// drain reads everything from the host and answers nothing.
func (p *ports) drain() {
	buf := make([]byte, 16384)
	go func() {
		for {
			if _, err := p.control.Read(buf[:4096]); err != nil {
				time.Sleep(2 * time.Millisecond)
			}
		}
	}()
	for {
		p.read(buf[4096:])
	}
}

// reopenPorts closes and opens both ports as fast as possible.
func reopenPorts(p *ports) {
	for {
		p.control.Close()
		p.data.Close()
		var err error
		if p.control, err = port.Open("mayfly.control", portTimeout); err != nil {
			return
		}
		if p.data, err = port.Open("mayfly.data", portTimeout); err != nil {
			return
		}
		p.data.SetWriteDeadline(time.Now().Add(5 * time.Millisecond))
		p.data.Write([]byte("here and gone"))
	}
}

// onCommand answers every attach correctly and responds to each command with the attack.
func onCommand(attack func(s *session, stream uint32)) func(p *ports) {
	return func(p *ports) {
		p.eachAttach(func(_ string, rest []byte) { (&session{ports: p, buffered: rest}).serve(attack) })
	}
}

// floodControl answers correctly on the data port and floods the control port.
func floodControl(piece []byte) func(p *ports) {
	return func(p *ports) {
		go forever(p.control, piece)
		onCommand(func(s *session, stream uint32) { s.respond(stream, validResult()) })(p)
	}
}

func flooding(piece []byte) func(*session, uint32) {
	many := bytes.Repeat(piece, 1+32768/len(piece))
	return func(s *session, _ uint32) { repeat(s.data, many) }
}

// floodingWhileReading also reads the host's answers, so that they do not pile up.
func floodingWhileReading(piece []byte) func(*session, uint32) {
	return func(s *session, stream uint32) {
		go func() {
			buf := make([]byte, 65536)
			for {
				if _, err := s.read(buf); err != nil {
					return
				}
			}
		}()
		flooding(piece)(s, stream)
	}
}

// onStream repeats a frame on the stream of the command.
func onStream(of func(stream uint32) []byte) func(*session, uint32) {
	return func(s *session, stream uint32) {
		s.respondHead(stream)
		flooding(of(stream))(s, stream)
	}
}

// lateData ends a response and goes on with data on its stream, which the host has no reader for.
func lateData(s *session, stream uint32) {
	s.data.Write(http2Frame(frameHeaders, flagEndHeaders|flagEndStream, stream, status200))
	flooding(http2Frame(frameData, 0, stream, []byte("x")))(s, stream)
}

func (s *session) respondHead(stream uint32) {
	s.data.Write(http2Frame(frameHeaders, flagEndHeaders, stream, status200))
}

// manyStreams opens streams until the host closes the connection.
func manyStreams(of func(stream, parent uint32) []byte) func(*session, uint32) {
	return func(s *session, parent uint32) {
		for stream := uint32(2); ; {
			var piece []byte
			for range 1000 {
				piece = append(piece, of(stream, parent)...)
				stream += 2
			}
			if _, err := s.data.Write(piece); err != nil {
				return
			}
		}
	}
}

func pushed(stream, parent uint32) []byte {
	promise := []byte{byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream), 0x82, 0x86, 0x84, 0x41, 1, 'a'}
	return http2Frame(framePush, flagEndHeaders, parent, promise)
}

func endlessContinuation(s *session, stream uint32) {
	s.data.Write(http2Frame(frameHeaders, 0, stream, status200))
	repeat(s.data, http2Frame(frameContinuation, 0, stream, bytes.Repeat(header("x", "y"), 1000)))
}

// headerBomb refers to one long header with a single byte, thousands of times.
func headerBomb(s *session, stream uint32) {
	block := append(append([]byte{0x88}, indexed("x", strings.Repeat("v", 4000))...), bytes.Repeat([]byte{0xbe}, 12000)...)
	s.data.Write(http2Frame(frameHeaders, 0, stream, block))
	for {
		if _, err := s.data.Write(http2Frame(frameContinuation, 0, stream, bytes.Repeat([]byte{0xbe}, 16000))); err != nil {
			return
		}
	}
}

func wrongLength(length, body string) func(*session, uint32) {
	return func(s *session, stream uint32) {
		head := append(bytes.Clone(status200), header("content-length", length)...)
		s.data.Write(http2Frame(frameHeaders, flagEndHeaders, stream, head))
		s.data.Write(http2Frame(frameData, flagEndStream, stream, []byte(body)))
	}
}
