package execution

import (
	"os"
	"sync/atomic"
)

// output is the captured beginning of one stream (stdout or stderr) of an execution. Captured bytes are in memory as long as the budget
// lasts and then in a file. Offsets count bytes from the start of the stream. Guarded by the execution's lock.
type output struct {
	limit  int64 // maximum of kept
	budget *Budget

	blocks   [][]byte // captured bytes in memory; all blocks but the last are full
	inMemory int64    // number of bytes in blocks
	spilled  *os.File // captured bytes after those in memory; nil if there are none
	kept     int64    // number of captured bytes

	total int64 // bytes written by the command
}

const blockLen = 32 << 10

// spillDir is where files for output are created. They have no name once they are open.
var spillDir = "/var/lib"

// unnamedFile returns a new file that is gone when it is closed.
func unnamedFile() (*os.File, error) {
	f, err := os.CreateTemp(spillDir, "output-*")
	if err == nil {
		os.Remove(f.Name())
	}
	return f, err
}

// add appends p. Bytes within the limit are captured, the rest is only counted.
func (o *output) add(p []byte) {
	o.total += int64(len(p))
	room := o.limit - o.kept
	if room <= 0 {
		return
	}
	wanted := p[:min(room, int64(len(p)))]
	if o.capture(wanted) < len(wanted) {
		o.limit = o.kept // neither memory nor disk is left: what follows would leave a gap
	}
}

// capture keeps as much of p as memory and disk allow, and returns how much that is.
func (o *output) capture(p []byte) (n int) {
	if o.spilled == nil {
		n = int(o.budget.take(int64(len(p))))
		o.keep(p[:n])
	}
	if n < len(p) {
		n += o.spill(p[n:])
	}
	return n
}

// spill appends p to the file and returns how much could be written.
func (o *output) spill(p []byte) int {
	if o.spilled == nil {
		f, err := unnamedFile()
		if err != nil {
			return 0
		}
		o.spilled = f
	}
	n, _ := o.spilled.WriteAt(p, o.kept-o.inMemory)
	o.kept += int64(n)
	return n
}

func (o *output) keep(p []byte) {
	o.kept += int64(len(p))
	o.inMemory += int64(len(p))
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
	if at < o.inMemory {
		n = copy(p, o.blocks[at/blockLen][at%blockLen:])
		return n, at + int64(n)
	}
	if at < o.kept {
		n, _ = o.spilled.ReadAt(p[:min(int64(len(p)), o.kept-at)], at-o.inMemory)
	}
	return n, at + int64(n)
}

// free drops the captured bytes and returns those in memory to the budget.
func (o *output) free() {
	o.budget.give(o.inMemory)
	if o.spilled != nil {
		o.spilled.Close()
	}
	o.blocks, o.spilled, o.inMemory, o.kept = nil, nil, 0, 0
}

// Budget limits the memory for captured output of all executions, so that output cannot exhaust the memory of the machine. What
// exceeds it goes to disk.
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
