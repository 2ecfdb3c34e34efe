package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// sendTimeout is how long the other side may take to make room for a message.
const sendTimeout = 5 * time.Second

// maxFiles is the largest number of sockets in one message.
const maxFiles = 2

// Conn is one end of the socket between broker and resolver. Sending is safe from several goroutines, receiving is not.
type Conn struct {
	unix   *net.UnixConn
	sendMu sync.Mutex
	// names belong to an unfinished message.
	names []string
}

// Pair returns the broker's end, and the resolver's end as a file to inherit.
func Pair() (*Conn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "resolver")
	ours, err := FromFile(os.NewFile(uintptr(fds[0]), "broker"))
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// FromFile uses an inherited end and closes the file.
func FromFile(file *os.File) (*Conn, error) {
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, errors.New("not a unix socket")
	}
	return &Conn{unix: unix}, nil
}

// Close closes this end. The other side then receives the end of the stream.
func (c *Conn) Close() error { return c.unix.Close() }

// SendToBroker sends a message of the resolver.
func (c *Conn) SendToBroker(message FromResolver) error {
	if len(message.Entries) > MaxEntries {
		return fmt.Errorf("%d addresses in one message", len(message.Entries))
	}
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	return c.send(message.Append(nil), nil)
}

// SendToResolver sends a message of the broker, with sockets. The caller closes its copies.
func (c *Conn) SendToResolver(message FromBroker, files ...*os.File) error {
	parts, err := message.Encode()
	if err != nil {
		return err
	}
	var fds []int
	for _, file := range files {
		fds = append(fds, int(file.Fd()))
	}
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	for index, part := range parts {
		var rights []byte
		if len(fds) > 0 && index == len(parts)-1 {
			rights = syscall.UnixRights(fds...)
		}
		if err := c.send(part, rights); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) send(message, rights []byte) error {
	if err := c.unix.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	if rights == nil {
		_, err := c.unix.Write(message)
		return err
	}
	_, _, err := c.unix.WriteMsgUnix(message, rights, nil)
	return err
}

// ReceiveFromResolver waits for a message of the resolver. Descriptors that come with it are dropped by the kernel.
func (c *Conn) ReceiveFromResolver(buffer *[MaxFromResolverBytes + 1]byte) (FromResolver, error) {
	length, err := c.unix.Read(buffer[:])
	if err != nil {
		return FromResolver{}, err
	}
	return ParseFromResolver(buffer[:length])
}

// ReceiveFromBroker waits for a message of the broker and returns the sockets that came with it.
func (c *Conn) ReceiveFromBroker(buffer []byte) (FromBroker, []*os.File, error) {
	for {
		message, files, err := c.receivePart(buffer)
		if err != nil {
			return FromBroker{}, nil, err
		}
		c.names = append(c.names, message.Names...)
		if message.More {
			continue
		}
		message.Names, c.names = c.names, nil
		return message, files, nil
	}
}

func (c *Conn) receivePart(buffer []byte) (FromBroker, []*os.File, error) {
	rights := make([]byte, syscall.CmsgSpace(4*maxFiles))
	length, rightsLength, _, _, err := c.unix.ReadMsgUnix(buffer, rights)
	if err != nil {
		return FromBroker{}, nil, err
	}
	files, err := readFiles(rights[:rightsLength])
	if err != nil {
		return FromBroker{}, nil, err
	}
	var message FromBroker
	if err := json.Unmarshal(buffer[:length], &message); err != nil {
		for _, file := range files {
			file.Close()
		}
		return FromBroker{}, nil, err
	}
	return message, files, nil
}

func readFiles(rights []byte) ([]*os.File, error) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for _, message := range messages {
		fds, err := syscall.ParseUnixRights(&message)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "socket"))
		}
	}
	return files, nil
}
