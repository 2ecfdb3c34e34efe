// Package machine serves DNS to one machine: it listens in the machine's namespace and asks the host's resolvers.
package machine

import (
	"net"
	"sync"
	"time"

	"mayfly/net/internal/names"
	"mayfly/net/internal/netns"
	"mayfly/net/internal/upstream"
)

// Limits of one machine, so that it cannot take the resolver from the others.
const (
	maxOutstanding      = 64
	maxConnections      = 16
	queriesPerSecond    = 200
	burstQueries        = 400
	maxRememberedNames  = 1024
	connectionIdleFor   = 10 * time.Second
	answerWithin        = 6 * time.Second
	shortestOpenFor     = 60 * time.Second
	openLongerThanTTLBy = 30 * time.Second
	longestOpenFor      = 24 * time.Hour
	retryAfterErrorFor  = 10 * time.Millisecond
)

// Machine is the DNS server of one machine.
type Machine struct {
	netnsPath   string
	servers     *upstream.Servers
	udp         *net.UDPConn
	tcp         net.Listener
	outstanding chan struct{}
	connections chan struct{}
	rate        *bucket

	// mu holds policy, memory and the namespace's rules together: they change as one.
	mu     sync.Mutex
	policy *names.Policy
	memory *memory

	openMu sync.Mutex
	// open holds the connections that are being served; nil once closed.
	open map[net.Conn]bool
}

// Start listens on an address inside a namespace and serves until Close.
func Start(netnsPath, address string, servers *upstream.Servers, policy *names.Policy) (*Machine, error) {
	machine := &Machine{
		netnsPath:   netnsPath,
		servers:     servers,
		outstanding: make(chan struct{}, maxOutstanding),
		connections: make(chan struct{}, maxConnections),
		rate:        newBucket(queriesPerSecond, burstQueries),
		policy:      policy,
		memory:      newMemory(maxRememberedNames),
		open:        map[net.Conn]bool{},
	}
	if err := netns.Do(netnsPath, func() error { return machine.listen(address) }); err != nil {
		return nil, err
	}
	go machine.serveUDP()
	go machine.serveTCP()
	return machine, nil
}

func (m *Machine) listen(address string) error {
	packets, err := net.ListenPacket("udp4", address)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		packets.Close()
		return err
	}
	m.udp, m.tcp = packets.(*net.UDPConn), listener
	return nil
}

// Close stops serving and closes every socket, so that nothing keeps the namespace alive.
func (m *Machine) Close() {
	m.udp.Close()
	m.tcp.Close()
	m.openMu.Lock()
	defer m.openMu.Unlock()
	for conn := range m.open {
		conn.Close()
	}
	m.open = nil
}
