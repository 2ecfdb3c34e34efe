// Package machine serves DNS to one machine. It listens in the machine's namespace and asks the host's resolvers.
package machine

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"mayfly/net/internal/names"
	"mayfly/net/internal/netns"
	"mayfly/net/internal/upstream"
)

// The limits of one machine, so that it cannot starve the others.
const (
	maxPendingQueries    = 64
	maxConnections       = 16
	queriesPerSecond     = 200
	queryBurst           = 400
	maxResolvedAddresses = 1024
	connectionIdleFor    = 10 * time.Second
	answerTimeout        = 6 * time.Second
	minOpenFor           = 60 * time.Second
	openAfterTTL         = 30 * time.Second
	maxOpenFor           = 24 * time.Hour
	pauseAfterError      = 10 * time.Millisecond
)

// Shared is what the DNS servers of all machines have in common.
type Shared struct {
	Servers *upstream.Servers
	// Refused are the ranges whose addresses no answer may contain.
	Refused []netip.Prefix
	Rate    *TotalRate
}

func (s *Shared) isRefused(ip netip.Addr) bool {
	return slices.ContainsFunc(s.Refused, func(refused netip.Prefix) bool { return refused.Contains(ip) })
}

// Machine is the DNS server of one machine.
type Machine struct {
	netnsPath   string
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

// Start listens on an address inside a namespace and serves until Close.
func Start(netnsPath, address string, shared *Shared, policy *names.Policy) (*Machine, error) {
	machine := &Machine{
		netnsPath:   netnsPath,
		shared:      shared,
		pending:     make(chan struct{}, maxPendingQueries),
		connections: make(chan struct{}, maxConnections),
		rate:        shared.Rate.forMachine(),
		policy:      policy,
		resolved:    newResolvedAddresses(maxResolvedAddresses),
		conns:       map[net.Conn]bool{},
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
