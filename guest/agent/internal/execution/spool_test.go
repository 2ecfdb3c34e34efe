package execution

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// written is what a command wrote: every byte with its stream.
type written struct {
	bytes   []byte
	streams []byte
}

func (w *written) add(stream int, p []byte) {
	w.bytes = append(w.bytes, p...)
	w.streams = append(w.streams, bytes.Repeat([]byte{byte(stream)}, len(p))...)
}

// drain reads everything that is there and compares it with what was written. It returns how many bytes were lost.
func drain(t *testing.T, s *spool, r *reader, w *written, bufLen int) (lost int64) {
	t.Helper()
	buf := make([]byte, bufLen)
	for {
		at := r.position
		stream, n, gap := s.read(r, buf)
		if gap > 0 {
			lost += gap
			continue
		}
		if n == 0 {
			return lost
		}
		if !bytes.Equal(buf[:n], w.bytes[at:at+int64(n)]) || r.position != at+int64(n) {
			t.Fatalf("wrong bytes at %d", at)
		}
		for _, other := range w.streams[at : at+int64(n)] {
			if int(other) != stream {
				t.Fatalf("wrong stream at %d", at)
			}
		}
	}
}

func TestReadersOfASpoolGetEveryByteOnceFromAnyPosition(t *testing.T) {
	spillDir = t.TempDir()
	t.Cleanup(func() { spillDir = "/var/lib" })
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		s, w := newSpool(1<<20), &written{}
		defer s.free()
		readers := []*reader{s.seek(0)}
		for len(w.bytes) < 600_000 {
			length := 1 + random.IntN(1<<random.IntN(18))
			p := make([]byte, length)
			for i := range p {
				p[i] = byte(random.Uint32())
			}
			stream := random.IntN(2)
			w.add(stream, p)
			s.add(stream, p)
			if random.IntN(8) == 0 {
				readers = append(readers, s.seek(random.Int64N(s.total+1)))
			}
			for _, r := range readers {
				if random.IntN(3) == 0 {
					if lost := drain(t, s, r, w, 1+random.IntN(40_000)); lost > 0 {
						t.Fatalf("seed %d: %d bytes were lost", seed, lost)
					}
				}
			}
		}
		for _, r := range readers {
			drain(t, s, r, w, 32<<10)
			if r.position != s.total {
				t.Fatalf("seed %d: a reader ended at %d of %d", seed, r.position, s.total)
			}
		}
	}
}

func TestASpoolDropsTheOldestOutputAndSaysHowMuch(t *testing.T) {
	spillDir = t.TempDir()
	t.Cleanup(func() { spillDir = "/var/lib" })
	s, w := newSpool(256<<10), &written{}
	defer s.free()
	slow := s.seek(0)
	drain(t, s, slow, w, 1000)
	for i := range 40_000 {
		line := fmt.Appendf(nil, "line %d of a long build\n", i)
		w.add(i%2, line)
		s.add(i%2, line)
	}
	kept := s.total - func() int64 { _, start := s.oldest(); return start }()
	if kept < 128<<10 || kept > 330<<10 {
		t.Fatalf("%d bytes are kept", kept)
	}
	for name, r := range map[string]*reader{"slow": slow, "new": s.seek(0), "in the middle": s.seek(1000)} {
		from := r.position
		if lost := drain(t, s, r, w, 32<<10); lost != s.total-kept-from {
			t.Errorf("%s: %d bytes lost of %d", name, lost, s.total)
		}
	}
	if info, err := s.file.Stat(); err != nil || info.Size() > 256<<10 {
		t.Fatalf("the file has %d bytes, %v", info.Size(), err)
	}
	if s.diskBytes() != 256<<10 {
		t.Fatal(s.diskBytes())
	}
}

func TestOnAFullDiskASpoolKeepsWhatIsInMemory(t *testing.T) {
	spillDir = t.TempDir() + "/missing"
	t.Cleanup(func() { spillDir = "/var/lib" })
	s, w := newSpool(1<<20), &written{}
	reading := s.seek(0)
	var lost int64
	for i := range 60_000 {
		p := fmt.Appendf(nil, "%d,", i)
		w.add(0, p)
		s.add(0, p)
		lost += drain(t, s, reading, w, 100)
	}
	if lost > 0 || reading.position != s.total {
		t.Fatalf("a reader that keeps up lost %d bytes", lost)
	}
	late := s.seek(10)
	_, start := s.oldest()
	if lost := drain(t, s, late, w, 100); lost != start-10 || late.position != s.total || s.total-start < 32<<10 {
		t.Fatalf("%d bytes were lost, the oldest block begins at %d", lost, start)
	}
}
