package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
)

// The listening sockets of the service outlive it in a process of their own: mayfly-jail, confined like a service, in the mode "hand-out". It never
// accepts a connection. Clients that connect meanwhile wait for the next service, and no other program can open the ports.
//
// A jail that starts a service connects to the unix socket, which only root can, and gets the sockets with their names.

// handOutMode is the mode of the process that holds the sockets.
const handOutMode = "hand-out"

// handOutName is the name of the unix socket, the last of the sockets that the process inherits.
const handOutName = "handout"

// receiveSeconds is how long a jail waits for the sockets.
const receiveSeconds = 30

// handOut gives its sockets to every process that connects, until it is killed. It prints "ready" once one can. It returns only on failure.
func handOut([]string) error {
	names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
	last := len(names) - 1
	if names[last] != handOutName {
		return errors.New("no socket to hand others out on")
	}
	debug.SetGCPercent(100)
	fds := passedFds(len(names))
	if _, err := fmt.Println("ready"); err != nil {
		return err
	}
	return handOutOn(fds[last], names[:last], fds[:last])
}

func handOutOn(listener int, names []string, fds []int) error {
	for {
		conn, _, err := syscall.Accept4(listener, syscall.SOCK_CLOEXEC)
		if errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.ECONNABORTED) {
			continue
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		// If it fails, the jail that connected is gone or reports it.
		_ = syscall.Sendmsg(conn, []byte(strings.Join(names, ":")), syscall.UnixRights(fds...), nil, syscall.MSG_NOSIGNAL)
		syscall.Close(conn)
	}
}

// receivePorts gets the listening sockets from the process that holds them, on descriptors from 3 on, and returns their names.
func receivePorts(path string) ([]string, error) {
	low, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	conn, err := aboveInherited(low)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(conn)
	if err := syscall.SetsockoptTimeval(conn, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &syscall.Timeval{Sec: receiveSeconds}); err != nil {
		return nil, err
	}
	if err := syscall.Connect(conn, &syscall.SockaddrUnix{Name: path}); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	names, fds, err := receive(conn)
	if err != nil {
		return nil, fmt.Errorf("receive from %s: %w", path, err)
	}
	// First all of them: the low number of one may be meant for another.
	for index, fd := range fds {
		if fds[index], err = aboveInherited(fd); err != nil {
			return nil, err
		}
	}
	for index, fd := range fds {
		if err := passOn(fd, firstPassedFd+index); err != nil {
			return nil, err
		}
		syscall.Close(fd)
	}
	return names, nil
}

// receive reads one message with names and sockets.
func receive(conn int) ([]string, []int, error) {
	text, rights := make([]byte, 256), make([]byte, syscall.CmsgSpace(4*maxPorts))
	var count, rightsCount, flags int
	err := error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) {
		count, rightsCount, flags, _, err = syscall.Recvmsg(conn, text, rights, syscall.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return nil, nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:rightsCount])
	if err != nil {
		return nil, nil, err
	}
	fds := []int{}
	for _, message := range messages {
		received, err := syscall.ParseUnixRights(&message)
		if err != nil {
			return nil, nil, err
		}
		fds = append(fds, received...)
	}
	names := strings.Split(string(text[:count]), ":")
	isWrong := func(name string) bool { return !portName.MatchString(name) }
	if flags&syscall.MSG_CTRUNC != 0 || len(fds) != len(names) || slices.ContainsFunc(names, isWrong) {
		return nil, nil, fmt.Errorf("%d sockets with the names %q", len(fds), names)
	}
	return names, fds, nil
}
