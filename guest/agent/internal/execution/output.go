package execution

// output is one stream of an execution: its beginning, kept, and past that a window lent to whoever follows.
// Positions count bytes from the stream's beginning. The execution's lock guards it.
type output struct {
	limit  int64 // bytes kept at most
	budget *Budget

	blocks [][]byte // what is kept; all but the last are full
	kept   int64

	window []byte // bytes from windowAt on, for followers only
	from   int64

	total int64
}

const blockLen = 32 << 10

// add appends p: as much as may be kept is kept, the rest goes to the window if it is lent and is dropped if not.
func (o *output) add(p []byte, lend bool) {
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
	if !lend {
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

// read copies what follows position at into p and returns how much, and the position after it.
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

// trim drops what lies in the window before position at.
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

// free gives back what was kept.
func (o *output) free() {
	o.budget.give(o.kept)
	o.blocks, o.window, o.kept = nil, nil, 0
}
