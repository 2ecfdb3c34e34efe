package execution

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"mayfly/agent/internal/fault"
)

// maxArgument is the maximum length of a command that is passed as an argument. The kernel allows up to 128 KiB per argument.
const maxArgument = 100_000

// arguments returns the arguments of bash. A long command is read from descriptor 3, which is closed before the command runs.
func arguments(command string) []string {
	if len(command) > maxArgument {
		return []string{"bash", "-c", `eval "$(</dev/fd/3)" 3<&-`}
	}
	return []string{"bash", "-c", "--", command}
}

// stdio holds both ends of a command's descriptors.
type stdio struct {
	outputs  [2]*pipe
	stdin    *os.File
	childFDs []uintptr // descriptors 0, 1, 2 … of the command
	toClose  []int     // those of childFDs that the agent closes once the command has started
}

func openStdio(r *Request) (_ *stdio, err error) {
	s := new(stdio)
	defer func() {
		if err != nil {
			s.closeChildFDs()
			s.closeAgentFDs()
		}
	}()
	null, err := devNull()
	if err != nil {
		return nil, err
	}
	s.childFDs = append(s.childFDs, null.Fd())
	if r.Stdin {
		fds, err := makePipe()
		if err != nil {
			return nil, err
		}
		syscall.SetNonblock(fds[1], true)
		s.stdin = os.NewFile(uintptr(fds[1]), "stdin")
		s.childFDs[0] = uintptr(fds[0])
		s.toClose = append(s.toClose, fds[0])
	}
	for i := range s.outputs {
		fds, err := makePipe()
		if err != nil {
			return nil, err
		}
		s.outputs[i] = newPipe(fds[0])
		s.childFDs = append(s.childFDs, uintptr(fds[1]))
		s.toClose = append(s.toClose, fds[1])
	}
	if len(r.Command) > maxArgument {
		fd, err := memoryFile(r.Command)
		if err != nil {
			return nil, err
		}
		s.childFDs = append(s.childFDs, uintptr(fd))
		s.toClose = append(s.toClose, fd)
	}
	return s, nil
}

func (s *stdio) closeChildFDs() {
	for _, fd := range s.toClose {
		syscall.Close(fd)
	}
	s.toClose = nil
}

func (s *stdio) closeAgentFDs() {
	if s.stdin != nil {
		s.stdin.Close()
	}
	for _, p := range s.outputs {
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

// memoryFile returns an anonymous file with the content, readable by the user.
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
