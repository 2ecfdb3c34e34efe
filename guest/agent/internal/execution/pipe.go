package execution

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipe is the agent's end of a command's output.
type pipe struct {
	fd    int
	file  *os.File // owns fd; non-blocking, so that a deadline interrupts a read
	ended bool     // every writer has gone
}

func newPipe(fd int) *pipe {
	syscall.SetNonblock(fd, true)
	return &pipe{fd: fd, file: os.NewFile(uintptr(fd), "output")}
}

// maxDrain bounds what is taken from a pipe that background children keep filling.
const maxDrain = 1 << 20

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

const (
	// bulkFrom is the amount of output from which on throughput counts more than latency.
	bulkFrom = 256 << 10
	bulkRest = time.Millisecond
	pipeSize = maxDrain
)

// pump hands on what the command writes until every writer has gone or it is interrupted. A writer of bulk gets a larger
// pipe and time to fill it: waking up for each of its writes is what costs.
func (p *pipe) pump(got func([]byte)) {
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	for total := 0; ; {
		n, err := p.file.Read(buf[:])
		if n > 0 {
			got(buf[:n])
		}
		if err != nil {
			p.ended = err == io.EOF
			return
		}
		if total < bulkFrom && total+n >= bulkFrom {
			syscall.Syscall(syscall.SYS_FCNTL, uintptr(p.fd), syscall.F_SETPIPE_SZ, pipeSize)
		}
		if total += n; total >= bulkFrom && n < len(buf) {
			time.Sleep(bulkRest)
		}
	}
}

// interrupt makes pump return.
func (p *pipe) interrupt() { p.file.SetReadDeadline(time.Unix(1, 0)) }

// drain hands on what the pipe holds now, after pump has returned. Background children that still write never notice:
// what they write from here on is read and dropped.
func (p *pipe) drain(got func([]byte)) {
	if !p.ended {
		p.ended = p.readWhatIsThere(got)
	}
	if p.ended {
		p.file.Close()
		return
	}
	p.file.SetReadDeadline(time.Time{})
	go func() {
		p.pump(func([]byte) {})
		p.file.Close()
	}()
}

func (p *pipe) readWhatIsThere(got func([]byte)) (ended bool) {
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	for taken := 0; taken < maxDrain; {
		n, err := syscall.Read(p.fd, buf[:])
		switch {
		case n > 0:
			got(buf[:n])
			taken += n
		case n == 0:
			return true
		case err == syscall.EINTR:
		default:
			return false
		}
	}
	return false
}
