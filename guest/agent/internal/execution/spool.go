package execution

import (
	"encoding/binary"
	"os"
	"slices"
	"sort"
)

// spool keeps the latest output of a live command, so that a reader can continue where another one stopped. A position counts the bytes
// of both streams in the order in which they were read from the command. The output is divided into blocks. The two newest are in memory,
// and all but the newest in a file without a name on the machine's disk. When the file is full, the oldest block is dropped. Guarded by
// the execution's lock.
//
// A block is a sequence of records: 1 byte stream, 2 bytes length (big-endian) and the bytes.
type spool struct {
	slots int64    // how many blocks the file has room for
	file  *os.File // nil until a block is full

	older []block // all blocks but the newest, oldest first
	prev  []byte  // the last of them
	saved bool    // whether that one is in the file too
	tail  []byte  // the newest block
	last  int     // offset of the last record of tail
	next  int64   // number of the newest block; blocks are counted from 0
	start int64   // position of the newest block
	total int64   // position after the newest block
}

// block is a block in the file. Its number determines its place.
type block struct {
	start int64 // position
	used  int   // length in bytes
}

const (
	spoolBlockLen   = 64 << 10
	recordHeaderLen = 3
)

func newSpool(maxBytes int64) *spool { return &spool{slots: max(maxBytes/spoolBlockLen, 1)} }

// add appends bytes of a stream.
func (s *spool) add(stream int, p []byte) {
	for len(p) > 0 {
		room := spoolBlockLen - len(s.tail)
		extends := len(s.tail) > 0 && s.tail[s.last] == byte(stream)
		if !extends {
			room -= recordHeaderLen
		}
		if room <= 0 {
			s.flush()
			continue
		}
		n := min(room, len(p))
		if !extends {
			s.last = len(s.tail)
			s.tail = append(s.tail, byte(stream), 0, 0)
		}
		s.tail = append(s.tail, p[:n]...)
		binary.BigEndian.PutUint16(s.tail[s.last+1:], uint16(len(s.tail)-s.last-recordHeaderLen))
		s.total += int64(n)
		p = p[n:]
	}
}

// flush moves the newest block to the file and begins another one. If the disk is full, only the blocks in memory are left.
func (s *spool) flush() {
	if int64(len(s.older)) == s.slots || len(s.older) > 0 && !s.saved {
		s.older = s.older[1:]
	}
	s.older = append(s.older, block{s.start, len(s.tail)})
	if s.saved = s.write(s.tail); !s.saved {
		s.older = s.older[len(s.older)-1:]
	}
	s.next++
	s.start, s.prev, s.tail = s.total, s.tail, s.prev[:0]
}

func (s *spool) write(p []byte) bool {
	if s.file == nil {
		f, err := unnamedFile()
		if err != nil {
			return false
		}
		s.file = f
	}
	_, err := s.file.WriteAt(p, s.next%s.slots*spoolBlockLen)
	return err == nil
}

// diskBytes is how much disk the spool may use.
func (s *spool) diskBytes() int64 { return int64(len(s.older)) * spoolBlockLen }

// oldest returns the number and the position of the oldest block.
func (s *spool) oldest() (number, start int64) {
	if len(s.older) == 0 {
		return s.next, s.start
	}
	return s.next - int64(len(s.older)), s.older[0].start
}

func (s *spool) free() {
	if s.file != nil {
		s.file.Close()
	}
	s.older, s.prev, s.tail, s.file, s.start = nil, nil, nil, nil, s.total
	s.next++
}

// reader is a place in a spool.
type reader struct {
	position int64
	number   int64  // of its block
	at       int    // offset of its record in the block
	consumed int    // bytes of the record that were read
	copied   []byte // its block, once that is not the newest; it does not change any more
	hasCopy  bool
}

// seek returns a reader at a position. What is no longer there is reported by its first read.
func (s *spool) seek(position int64) *reader {
	r := &reader{position: position}
	first, start := s.oldest()
	if position < start {
		r.number = -1 // read notices that its block is gone
		return r
	}
	index := sort.Search(len(s.older), func(i int) bool { return s.older[i].start > position }) - 1
	switch {
	case position >= s.start || index < 0:
		r.number, start = s.next, s.start
	default:
		r.number, start = first+int64(index), s.older[index].start
	}
	data, ok := s.block(r)
	for skip := position - start; ok && skip > 0; {
		n := recordLen(data, r.at)
		if skip <= int64(n) {
			r.consumed = int(skip)
			break
		}
		skip -= int64(n)
		r.at += recordHeaderLen + n
	}
	return r
}

// read copies the next bytes of one stream into p. If output was dropped before they could be read, it returns how much instead. It returns
// zeros if r has read everything.
func (s *spool) read(r *reader, p []byte) (stream, n int, lost int64) {
	for {
		data, ok := s.block(r)
		if !ok {
			if lost = s.skipDropped(r); lost > 0 {
				return 0, 0, lost
			}
			continue
		}
		if r.at == len(data) {
			if r.number == s.next {
				return 0, 0, 0
			}
			r.number, r.at, r.consumed, r.hasCopy = r.number+1, 0, 0, false
			continue
		}
		length := recordLen(data, r.at)
		if r.consumed == length {
			if r.number == s.next && r.at == s.last {
				return 0, 0, 0 // the record may still grow
			}
			r.at, r.consumed = r.at+recordHeaderLen+length, 0
			continue
		}
		from := r.at + recordHeaderLen
		n = copy(p, data[from+r.consumed:from+length])
		r.consumed += n
		r.position += int64(n)
		return int(data[r.at]), n, 0
	}
}

// skipDropped moves r to the oldest block and returns how many bytes it missed.
func (s *spool) skipDropped(r *reader) int64 {
	number, start := s.oldest()
	lost := start - r.position
	r.position, r.number, r.at, r.consumed, r.hasCopy = start, number, 0, 0, false
	return lost
}

// block returns the block of r; false if it was dropped or cannot be read, in which case it is dropped.
func (s *spool) block(r *reader) ([]byte, bool) {
	if r.number == s.next {
		return s.tail, true
	}
	if r.hasCopy {
		return r.copied, true
	}
	first, _ := s.oldest()
	if r.number < first {
		return nil, false
	}
	b := s.older[r.number-first]
	r.copied = slices.Grow(r.copied[:0], b.used)[:b.used]
	if r.number == s.next-1 {
		copy(r.copied, s.prev)
		r.hasCopy = true
		return r.copied, true
	}
	if _, err := s.file.ReadAt(r.copied, r.number%s.slots*spoolBlockLen); err != nil {
		s.older = s.older[r.number-first+1:]
		return nil, false
	}
	r.hasCopy = true
	return r.copied, true
}

func recordLen(data []byte, at int) int { return int(binary.BigEndian.Uint16(data[at+1:])) }
