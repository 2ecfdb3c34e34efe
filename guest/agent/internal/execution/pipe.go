package execution

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipe is the read end of a command's stdout or stderr.
type pipe struct {
	fd    int
	file  *os.File // owns fd; non-blocking, so that a deadline interrupts a read
	ended bool     // all writers have closed it
}

func newPipe(fd int) *pipe {
	syscall.SetNonblock(fd, true)
	return &pipe{fd: fd, file: os.NewFile(uintptr(fd), "output")}
}

// maxDrain limits how much is read from a pipe that background processes keep filling.
const maxDrain = 1 << 20

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

const (
	// bulkThreshold is the amount of output after which throughput matters more than latency.
	bulkThreshold = 256 << 10
	bulkPause     = time.Millisecond
	bulkPipeSize  = maxDrain
)

// pump passes the output to got until all writers have closed the pipe or it is interrupted. For bulk output it enlarges the pipe and
// pauses between reads, because waking up for every small write is expensive.
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
		if total < bulkThreshold && total+n >= bulkThreshold {
			syscall.Syscall(syscall.SYS_FCNTL, uintptr(p.fd), syscall.F_SETPIPE_SZ, bulkPipeSize)
		}
		if total += n; total >= bulkThreshold && n < len(buf) {
			time.Sleep(bulkPause)
		}
	}
}

// interrupt makes pump return.
func (p *pipe) interrupt() { p.file.SetReadDeadline(time.Unix(1, 0)) }

// drain passes the current content of the pipe to got; pump must have returned. Output that background processes write later is read
// and discarded, so that they do not block.
func (p *pipe) drain(got func([]byte)) {
	if !p.ended {
		p.ended = p.readAvailable(got)
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

func (p *pipe) readAvailable(got func([]byte)) (ended bool) {
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
