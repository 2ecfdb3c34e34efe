package execution

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"mayfly/agent/internal/fault"
)

// maxArgument is the longest command that travels as an argument; the kernel takes up to 128 KiB.
const maxArgument = 100_000

// arguments are bash's. A long command waits in descriptor 3, which is closed again for everything the command starts.
func arguments(command string) []string {
	if len(command) > maxArgument {
		return []string{"bash", "-c", `eval "$(</dev/fd/3)" 3<&-`}
	}
	return []string{"bash", "-c", "--", command}
}

// ends are both sides of a command's descriptors.
type ends struct {
	outputs [2]*pipe
	stdin   *os.File
	theirs  []uintptr
	toClose []int
}

func openEnds(r *Request) (e *ends, err error) {
	e = new(ends)
	defer func() {
		if err != nil {
			e.closeTheirs()
			e.closeOurs()
		}
	}()
	null, err := devNull()
	if err != nil {
		return nil, err
	}
	e.theirs = append(e.theirs, null.Fd())
	if r.Stdin {
		fds, err := makePipe()
		if err != nil {
			return nil, err
		}
		syscall.SetNonblock(fds[1], true)
		e.stdin = os.NewFile(uintptr(fds[1]), "stdin")
		e.theirs[0] = uintptr(fds[0])
		e.toClose = append(e.toClose, fds[0])
	}
	for i := range e.outputs {
		fds, err := makePipe()
		if err != nil {
			return nil, err
		}
		e.outputs[i] = newPipe(fds[0])
		e.theirs = append(e.theirs, uintptr(fds[1]))
		e.toClose = append(e.toClose, fds[1])
	}
	if len(r.Command) > maxArgument {
		fd, err := memoryFile(r.Command)
		if err != nil {
			return nil, err
		}
		e.theirs = append(e.theirs, uintptr(fd))
		e.toClose = append(e.toClose, fd)
	}
	return e, nil
}

func (e *ends) closeTheirs() {
	for _, fd := range e.toClose {
		syscall.Close(fd)
	}
	e.toClose = nil
}

func (e *ends) closeOurs() {
	if e.stdin != nil {
		e.stdin.Close()
	}
	for _, p := range e.outputs {
		if p != nil {
			p.file.Close()
		}
	}
}

func makePipe() (fds [2]int, err error) {
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return fds, os.NewSyscallError("pipe2", err)
	}
	return fds, nil
}

// memoryFile holds content in a file without a name that the user may read.
func memoryFile(content string) (int, error) {
	name, _ := syscall.BytePtrFromString("command")
	const cloexec = 1
	r, _, errno := syscall.Syscall(sysMemfdCreate, uintptr(unsafe.Pointer(name)), cloexec, 0)
	if errno != 0 {
		return -1, os.NewSyscallError("memfd_create", errno)
	}
	fd := int(r)
	for b := []byte(content); len(b) > 0; {
		n, err := syscall.Write(fd, b)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			syscall.Close(fd)
			return -1, os.NewSyscallError("write", err)
		}
		b = b[max(n, 0):]
	}
	if err := syscall.Fchmod(fd, 0o444); err != nil {
		syscall.Close(fd)
		return -1, fault.New("internal", "%s", err)
	}
	return fd, nil
}
