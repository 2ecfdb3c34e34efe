package attach

import (
	"bytes"
	"strings"
	"testing"
)

const nonceA, nonceB = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"

func TestLinesInAnyChunks(t *testing.T) {
	in := "half\nattach " + nonceA + "\n" + strings.Repeat("x", 300) + "\n\nok\nunfinished"
	for size := 1; size < 40; size++ {
		var got []string
		var s lineScanner
		for rest := []byte(in); len(rest) > 0; {
			n := min(size, len(rest))
			s.feed(rest[:n], func(l []byte) { got = append(got, string(l)) })
			rest = rest[n:]
		}
		want := []string{"half", "attach " + nonceA, "", "ok"}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("pieces of %d: %q", size, got)
		}
	}
}

func TestParseAttach(t *testing.T) {
	if got := parseAttach([]byte("attach " + nonceA)); got != nonceA {
		t.Fatalf("got %q", got)
	}
	for _, bad := range []string{"", "attach", "attach ", "attach " + nonceA + "0", "attach " + strings.ToUpper(nonceA), "detach " + nonceA, " attach " + nonceA, "attach " + nonceA + "\r"} {
		if got := parseAttach([]byte(bad)); got != "" {
			t.Errorf("%q gave %q", bad, got)
		}
	}
}

func FuzzLineScanner(f *testing.F) {
	f.Add([]byte("\nattach "+nonceA+"\n"), 3)
	f.Add([]byte(strings.Repeat("y", 257)+"\nattach "+nonceB+"\n"), 7)
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\xff\n"), 1)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		if size < 1 {
			size = 1
		}
		var s lineScanner
		var got []string
		for rest := in; len(rest) > 0; {
			n := min(size, len(rest))
			s.feed(rest[:n], func(l []byte) { got = append(got, string(l)) })
			rest = rest[n:]
		}
		var want []string
		parts := strings.Split(string(in), "\n")
		for _, l := range parts[:len(parts)-1] {
			if len(l) <= maxLine {
				want = append(want, l)
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) || len(s.line) > maxLine {
			t.Fatalf("got %q, want %q", got, want)
		}
		for _, l := range got {
			parseAttach([]byte(l))
		}
	})
}

func FuzzSyncFinder(f *testing.F) {
	f.Add([]byte("garbage\nMAYFLY-SYNC "+nonceB+"\n"), []byte("rest"), 5)
	f.Add([]byte("MAYFLY-SYNC 0123456789abcdef"), []byte("PRI"), 1)
	f.Fuzz(func(t *testing.T, before, after []byte, size int) {
		if size < 1 {
			size = 1
		}
		pattern := syncLine(nonceA)
		stream := append(append(append([]byte(nil), before...), pattern...), after...)
		finder := syncFinder{pattern: pattern}
		for i := 0; i < len(stream); i += size {
			piece := stream[i:min(i+size, len(stream))]
			rest, found := finder.feed(piece)
			if !found {
				continue
			}
			end := bytes.Index(stream, pattern) + len(pattern)
			if !bytes.Equal(rest, stream[end:min(i+size, len(stream))]) {
				t.Fatalf("rest %q", rest)
			}
			return
		}
		t.Fatal("pattern not found")
	})
}

func TestTailKeepsTheLastBytes(t *testing.T) {
	for size := 1; size < 300; size += 7 {
		var all []byte
		var kept tail
		for i := range 10 {
			p := bytes.Repeat([]byte{byte('a' + i)}, size)
			all = append(all, p...)
			kept.add(p)
		}
		if want := all[max(0, len(all)-tailLen):]; !bytes.Equal(kept.last, want) {
			t.Fatalf("pieces of %d: %q", size, kept.last)
		}
	}
}
