// Package machine serves DNS to one machine, on sockets that were opened in the machine's namespace, and asks the host's resolvers.
package machine

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"mayfly/net/internal/names"
	"mayfly/net/internal/upstream"
	"mayfly/net/internal/wire"
)

// The limits that the broker enforces as well.
const (
	// MaxQueriesPerSecond is the lookup rate of one machine.
	MaxQueriesPerSecond = 200
	// MaxOpenFor is how long an address can stay open without another lookup.
	MaxOpenFor = 24 * time.Hour
)

// The limits of one machine, so that it cannot starve the others.
const (
	maxPendingQueries    = 64
	maxConnections       = 16
	queriesPerSecond     = MaxQueriesPerSecond
	queryBurst           = 400
	maxResolvedAddresses = wire.MaxEntries
	connectionIdleFor    = 10 * time.Second
	answerTimeout        = 6 * time.Second
	minOpenFor           = 60 * time.Second
	openAfterTTL         = 30 * time.Second
	pauseAfterError      = 10 * time.Millisecond
)

// Shared is what the DNS servers of all machines have in common.
type Shared struct {
	Servers upstream.Servers
	// Refused are the ranges whose addresses no answer may contain.
	Refused []netip.Prefix
	Rate    *TotalRate
}

func (s *Shared) isRefused(ip netip.Addr) bool {
	return slices.ContainsFunc(s.Refused, func(refused netip.Prefix) bool { return refused.Contains(ip) })
}

// Sockets are those on which a machine's queries arrive.
type Sockets struct {
	UDP *net.UDPConn
	TCP net.Listener
}

// SocketsFrom takes over descriptors: a UDP socket and a TCP listener. It closes the files.
func SocketsFrom(files []*os.File) (Sockets, error) {
	defer func() {
		for _, file := range files {
			file.Close()
		}
	}()
	if len(files) != 2 {
		return Sockets{}, fmt.Errorf("%d sockets instead of two", len(files))
	}
	packets, err := net.FilePacketConn(files[0])
	if err != nil {
		return Sockets{}, err
	}
	udp, ok := packets.(*net.UDPConn)
	if !ok {
		packets.Close()
		return Sockets{}, fmt.Errorf("%T is not a UDP socket", packets)
	}
	listener, err := net.FileListener(files[1])
	if err != nil {
		udp.Close()
		return Sockets{}, err
	}
	return Sockets{UDP: udp, TCP: listener}, nil
}

// Opener allows the machine connections to addresses and returns when the rules are in force.
type Opener func(entries []wire.Entry) error

// Machine is the DNS server of one machine.
type Machine struct {
	allow       Opener
	shared      *Shared
	udp         *net.UDPConn
	tcp         net.Listener
	pending     chan struct{}
	connections chan struct{}
	rate        *queryRate

	// mu guards policy and resolved, which change together with the namespace's rules.
	mu       sync.Mutex
	policy   *names.Policy
	resolved *resolvedAddresses

	connsMu sync.Mutex
	// conns holds the connections that are being served. It is nil after Close.
	conns map[net.Conn]bool
}

// Start serves on the sockets until Close.
func Start(sockets Sockets, allow Opener, shared *Shared, policy *names.Policy) *Machine {
	machine := &Machine{
		allow:       allow,
		shared:      shared,
		udp:         sockets.UDP,
		tcp:         sockets.TCP,
		pending:     make(chan struct{}, maxPendingQueries),
		connections: make(chan struct{}, maxConnections),
		rate:        shared.Rate.forMachine(),
		policy:      policy,
		resolved:    newResolvedAddresses(maxResolvedAddresses),
		conns:       map[net.Conn]bool{},
	}
	go machine.serveUDP()
	go machine.serveTCP()
	return machine
}

// Close stops serving and closes every socket, so that none of them keeps the namespace alive.
func (m *Machine) Close() {
	m.udp.Close()
	m.tcp.Close()
	m.connsMu.Lock()
	defer m.connsMu.Unlock()
	for conn := range m.conns {
		conn.Close()
	}
	m.conns = nil
}
