package execution

import (
	"context"
	"os"
	"sync"
	"time"

	"mayfly/agent/internal/fault"
)

// maxInput is how many bytes wait for a command that does not read its stdin, and the maximum of one write.
const maxInput = 1 << 20

// inputWait is how long a write waits for room.
const inputWait = 10 * time.Second

// input passes bytes to a command's stdin at the pace at which the command reads. A write is accepted as a whole or not at all.
type input struct {
	pipe *os.File

	mu      sync.Mutex
	changed *sync.Cond
	waiting []byte // accepted, but not written to the pipe
	closing bool   // the pipe is closed when nothing waits any more
	closed  bool
}

func newInput(pipe *os.File) *input {
	i := &input{pipe: pipe}
	i.changed = sync.NewCond(&i.mu)
	go i.pump()
	return i
}

// write accepts p, and the end of stdin after it if closeAfter is set. It waits while too much is waiting.
func (i *input) write(ctx context.Context, p []byte, closeAfter bool) error {
	ctx, cancel := context.WithTimeout(ctx, inputWait)
	defer cancel()
	defer context.AfterFunc(ctx, i.wake)()
	i.mu.Lock()
	defer i.mu.Unlock()
	for !i.closing && !i.closed && len(i.waiting)+len(p) > maxInput {
		if ctx.Err() != nil {
			return fault.New("too_many", "%d bytes wait for the command, which does not read its stdin", len(i.waiting))
		}
		i.changed.Wait()
	}
	if i.closing || i.closed {
		return fault.New("refused", "stdin is closed")
	}
	i.waiting = append(i.waiting, p...)
	i.closing = closeAfter
	i.changed.Broadcast()
	return nil
}

// pump writes what was accepted until stdin is closed.
func (i *input) pump() {
	buf := make([]byte, 16<<10)
	for {
		n := i.next(buf)
		if n == 0 {
			i.end()
			return
		}
		if _, err := i.pipe.Write(buf[:n]); err != nil {
			i.end()
			return
		}
	}
}

// next moves the next bytes into p. It waits for them, and returns 0 when there will be none.
func (i *input) next(p []byte) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.waiting) == 0 && !i.closing && !i.closed {
		i.changed.Wait()
	}
	n := copy(p, i.waiting)
	if i.waiting = i.waiting[n:]; len(i.waiting) == 0 {
		i.waiting = nil
	}
	i.changed.Broadcast()
	return n
}

// end closes stdin at once and drops what waits. It may be called more than once, and for no input.
func (i *input) end() {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed, i.waiting = true, nil
	i.pipe.Close()
	i.changed.Broadcast()
}

func (i *input) wake() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.changed.Broadcast()
}
