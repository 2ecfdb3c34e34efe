package terminal

import "slices"

// historyLen is how much output is kept to build the screen again, and how far the shell may run ahead of its viewer.
const historyLen = 1 << 20

// maxSizes limits the sizes that are kept, because a host may resize without any output in between.
const maxSizes = 1024

// history keeps the latest output of a terminal and the sizes that it had meanwhile. A position counts the bytes of output.
type history struct {
	output []byte
	start  int64   // position of output
	sizes  []sized // oldest first; the first one is that at start
	begun  int64   // number of the first of sizes; sizes are counted from 0
}

// sized is the size of the terminal from a position on.
type sized struct {
	at   int64
	size size
}

func (h *history) end() int64 { return h.start + int64(len(h.output)) }

// add appends output and drops the oldest beyond historyLen.
func (h *history) add(p []byte) {
	h.output = append(h.output, p...)
	if over := len(h.output) - historyLen; over > 0 {
		h.output = h.output[over:]
		h.start += int64(over)
		h.dropSizes()
	}
}

// resize records the size of what is printed from now on.
func (h *history) resize(s size) {
	if n := len(h.sizes); n > 0 && h.sizes[n-1].size == s {
		return
	}
	h.sizes = append(h.sizes, sized{h.end(), s})
	h.dropSizes()
}

// dropSizes drops the sizes that ended before the output that is kept.
func (h *history) dropSizes() {
	n := max(0, len(h.sizes)-maxSizes)
	for n+1 < len(h.sizes) && h.sizes[n+1].at <= h.start {
		n++
	}
	h.sizes = slices.Delete(h.sizes, 0, n)
	h.begun += int64(n)
	if n > 0 {
		h.sizes[0].at = min(h.sizes[0].at, h.start)
	}
}

// viewer is a place in a history: what the host has received.
type viewer struct {
	at    int64 // position
	sizes int64 // number of the next size to send
}

// from returns a viewer at a position, at the oldest output if that is gone, or at the end if there is not that much.
func (h *history) from(position int64) *viewer {
	v := &viewer{at: min(max(position, h.start), h.end()), sizes: h.begun}
	for v.sizes+1 < h.begun+int64(len(h.sizes)) && h.sizes[v.sizes+1-h.begun].at <= v.at {
		v.sizes++
	}
	return v
}

// read returns the next size for v, or copies the next output into p. It returns neither if there is nothing.
func (h *history) read(v *viewer, p []byte) (n int, resized *size) {
	v.at, v.sizes = max(v.at, h.start), max(v.sizes, h.begun)
	until := h.end()
	if next := v.sizes - h.begun; next < int64(len(h.sizes)) {
		if s := &h.sizes[next]; s.at <= v.at {
			v.sizes++
			return 0, &s.size
		}
		until = h.sizes[next].at
	}
	n = copy(p, h.output[v.at-h.start:until-h.start])
	v.at += int64(n)
	return n, nil
}
