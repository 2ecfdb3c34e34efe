package broker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"mayfly/net/internal/firewall"
	"mayfly/net/internal/nameservers"
	"mayfly/net/internal/netns"
)

// Root is the Host of a process that is root.
type Root struct {
	Servers *nameservers.Servers
	// UID is the resolver's user. All sockets that it gets belong to this user, also in the host's lists and for the host's rules.
	UID uint32
}

const (
	// inUseTimeout is how long the resolver of a killed broker may take to exit and close its sockets.
	inUseTimeout = 5 * time.Second
	inUsePause   = 20 * time.Millisecond
)

// Listen opens the sockets in the namespace. It waits for a resolver that is about to exit.
func (r Root) Listen(netnsPath, address string) (udp, tcp *os.File, err error) {
	for deadline := time.Now().Add(inUseTimeout); ; time.Sleep(inUsePause) {
		err = netns.Do(netnsPath, func() error {
			return asUser(r.UID, func() error {
				udp, tcp, err = listen(address)
				return err
			})
		})
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return udp, tcp, err
		}
	}
}

func listen(address string) (udp, tcp *os.File, err error) {
	packets, err := net.ListenPacket("udp4", address)
	if err != nil {
		return nil, nil, err
	}
	defer packets.Close()
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	if udp, err = packets.(*net.UDPConn).File(); err != nil {
		return nil, nil, err
	}
	if tcp, err = listener.(*net.TCPListener).File(); err != nil {
		udp.Close()
		return nil, nil, err
	}
	return udp, tcp, nil
}

// Apply runs nft in the namespace.
func (r Root) Apply(netnsPath, transaction string) error {
	return firewall.Apply(netnsPath, transaction)
}

// Dial opens the socket in the host's own namespace. The resolver's user need not be able to read the list of name servers.
func (r Root) Dial(server int, network string) (socket *os.File, err error) {
	address, err := r.Servers.Address(server)
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = asUser(r.UID, func() error {
		socket, err = nameservers.Connect(address, network)
		return err
	})
	return socket, err
}

// asUser runs a function on the current thread with the file system identity of a user, which becomes the owner of the sockets that it
// creates. The capabilities for ports and namespaces stay.
func asUser(uid uint32, work func() error) error {
	setOwner(uid)
	defer setOwner(0)
	if now := setOwner(uid); now != uid {
		return fmt.Errorf("could not become user %d", uid)
	}
	return work()
}

// setOwner returns the identity that the thread had.
func setOwner(uid uint32) uint32 {
	before, _, _ := syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(uid), 0, 0)
	return uint32(before)
}
