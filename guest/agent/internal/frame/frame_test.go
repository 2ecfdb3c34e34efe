package frame

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func TestRoundTrip(t *testing.T) {
	var b bytes.Buffer
	for i, p := range [][]byte{[]byte("hello"), {}, bytes.Repeat([]byte{7}, MaxPayload)} {
		if err := Write(&b, byte(i), p); err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(iotest.OneByteReader(&b))
	for i, n := range []int{5, 0, MaxPayload} {
		kind, p, err := r.Next()
		if err != nil || int(kind) != i || len(p) != n {
			t.Fatalf("frame %d: kind %d, %d bytes, %v", i, kind, len(p), err)
		}
	}
	if _, _, err := r.Next(); err != io.EOF {
		t.Fatalf("want io.EOF, got %v", err)
	}
}

func TestLayout(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, 3, []byte("ab")); err != nil {
		t.Fatal(err)
	}
	if want := []byte{3, 0, 0, 0, 2, 'a', 'b'}; !bytes.Equal(b.Bytes(), want) {
		t.Fatalf("got %v", b.Bytes())
	}
}

func TestInvalidInput(t *testing.T) {
	if err := Write(io.Discard, 0, make([]byte, MaxPayload+1)); !errors.Is(err, ErrTooLong) {
		t.Fatalf("oversized write: %v", err)
	}
	if _, _, err := NewReader(bytes.NewReader([]byte{0, 0, 1, 0, 1})).Next(); !errors.Is(err, ErrTooLong) {
		t.Fatalf("oversized read: %v", err)
	}
	for _, cut := range [][]byte{{0, 0}, {0, 0, 0, 0, 2}, {0, 0, 0, 0, 2, 'a'}} {
		if _, _, err := NewReader(bytes.NewReader(cut)).Next(); err != io.ErrUnexpectedEOF {
			t.Fatalf("cut %v: %v", cut, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 2, 'a', 'b'})
	f.Add([]byte{1, 0, 1, 0, 0})
	f.Add([]byte{3, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, in []byte) {
		r, src := NewReader(bytes.NewReader(in)), in
		for {
			kind, p, err := r.Next()
			if err != nil {
				return
			}
			var again bytes.Buffer
			if err := Write(&again, kind, p); err != nil || !bytes.HasPrefix(src, again.Bytes()) {
				t.Fatalf("frame does not encode back: %v", err)
			}
			src = src[again.Len():]
		}
	})
}
