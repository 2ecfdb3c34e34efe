package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// drain returns what v gets: sizes in brackets among the output.
func drain(h *history, v *viewer) string {
	var shown strings.Builder
	buf := make([]byte, 100)
	for {
		n, resized := h.read(v, buf)
		switch {
		case resized != nil:
			fmt.Fprintf(&shown, "[%dx%d]", resized.Cols, resized.Rows)
		case n > 0:
			shown.Write(buf[:n])
		default:
			return shown.String()
		}
	}
}

func TestOutputComesBackWithTheSizesItWasPrintedFor(t *testing.T) {
	h := &history{}
	h.resize(size{80, 24})
	first := h.from(0)
	h.add([]byte("small"))
	h.resize(size{120, 40})
	h.resize(size{120, 40})
	h.add([]byte("large"))
	for from, want := range map[int64]string{0: "[80x24]small[120x40]large", 2: "[80x24]all[120x40]large", 5: "[120x40]large", 7: "[120x40]rge", 10: "[120x40]", 1000: "[120x40]"} {
		if got := drain(h, h.from(from)); got != want {
			t.Errorf("from %d: %q", from, got)
		}
	}
	if got := drain(h, first); got != "[80x24]small[120x40]large" {
		t.Error(got)
	}
	h.resize(size{10, 10})
	h.add([]byte("!"))
	if got := drain(h, first); got != "[10x10]!" {
		t.Error(got)
	}
}

func TestOnlyTheLatestOutputIsKept(t *testing.T) {
	h := &history{}
	h.resize(size{80, 24})
	behind := h.from(0)
	h.add(bytes.Repeat([]byte("a"), historyLen))
	h.resize(size{90, 30})
	h.add(bytes.Repeat([]byte("b"), 100))
	if len(h.output) != historyLen || h.start != 100 {
		t.Fatal(len(h.output), h.start)
	}
	if got := drain(h, behind); len(got) != historyLen+len("[80x24][90x30]") || !strings.HasPrefix(got, "[80x24]a") || behind.at != h.end() {
		t.Fatal(len(got), behind.at)
	}
	h.add(bytes.Repeat([]byte("c"), historyLen))
	if len(h.sizes) != 1 || h.sizes[0].size != (size{90, 30}) {
		t.Fatal(h.sizes)
	}
	for i := range 3 * maxSizes {
		h.resize(size{uint16(1 + i%2), 1})
	}
	if len(h.sizes) > maxSizes {
		t.Fatal(len(h.sizes))
	}
	if got := drain(h, h.from(0)); !strings.HasPrefix(got, "[") || !strings.Contains(got, "c[") {
		t.Fatal(got[:20])
	}
}
