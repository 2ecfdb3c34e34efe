package execution

import "sync/atomic"

// output is one stream (stdout or stderr) of an execution: the captured beginning and, past the capture limit, a window for
// followers. Offsets count bytes from the start of the stream. Guarded by the execution's lock.
type output struct {
	limit  int64 // maximum of kept
	budget *Budget

	blocks [][]byte // captured bytes; all blocks but the last are full
	kept   int64    // number of captured bytes

	window []byte // bytes past the capture limit that a follower still needs
	from   int64  // offset of window

	total int64 // bytes written by the command
}

const blockLen = 32 << 10

// add appends p. Bytes within the limits are captured; the rest goes to the window if there are followers and is dropped otherwise.
func (o *output) add(p []byte, followed bool) {
	o.total += int64(len(p))
	if room := o.limit - o.kept; room > 0 {
		n := o.budget.take(min(room, int64(len(p))))
		if n < min(room, int64(len(p))) {
			o.limit = o.kept + n
		}
		o.keep(p[:n])
		p = p[n:]
	}
	if len(p) == 0 {
		return
	}
	if !followed {
		o.window, o.from = nil, o.total
		return
	}
	if len(o.window) == 0 {
		o.from = o.total - int64(len(p))
	}
	o.window = append(o.window, p...)
}

func (o *output) keep(p []byte) {
	o.kept += int64(len(p))
	for len(p) > 0 {
		if n := len(o.blocks); n == 0 || len(o.blocks[n-1]) == blockLen {
			o.blocks = append(o.blocks, nil)
		}
		last := &o.blocks[len(o.blocks)-1]
		n := min(blockLen-len(*last), len(p))
		*last = append(*last, p[:n]...)
		p = p[n:]
	}
}

// read copies bytes from offset at into p and returns their number and the offset after them.
func (o *output) read(at int64, p []byte) (n int, next int64) {
	if at < o.kept {
		n = copy(p, o.blocks[at/blockLen][at%blockLen:])
		return n, at + int64(n)
	}
	at = max(at, o.from)
	if at < o.from+int64(len(o.window)) {
		n = copy(p, o.window[at-o.from:])
	}
	return n, at + int64(n)
}

// trim drops the bytes of the window before offset at.
func (o *output) trim(at int64) {
	n := min(at-o.from, int64(len(o.window)))
	if n <= 0 {
		return
	}
	o.from += n
	if o.window = o.window[n:]; len(o.window) == 0 {
		o.window = nil
	}
}

// free drops the captured bytes and returns them to the budget.
func (o *output) free() {
	o.budget.give(o.kept)
	o.blocks, o.window, o.kept = nil, nil, 0
}

// Budget limits the memory for captured output of all executions, so that output cannot exhaust the memory of the machine.
type Budget struct{ left atomic.Int64 }

// NewBudget returns a budget of the given number of bytes.
func NewBudget(bytes int64) *Budget {
	b := new(Budget)
	b.left.Store(bytes)
	return b
}

// take reserves up to n bytes and returns how many it could reserve.
func (b *Budget) take(n int64) int64 {
	left := b.left.Add(-n)
	if left >= 0 {
		return n
	}
	missing := min(-left, n)
	b.left.Add(missing)
	return n - missing
}

func (b *Budget) give(n int64) { b.left.Add(n) }
