// Package broker is the part of mayfly-net that is root. It opens the sockets of machines in their network namespaces, hands them to the
// resolver, and changes nftables rules. It reads no packet of a guest or of a name server.
package broker

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"mayfly/net/internal/firewall"
	"mayfly/net/internal/machine"
	"mayfly/net/internal/names"
	"mayfly/net/internal/rate"
	"mayfly/net/internal/upstream"
	"mayfly/net/internal/wire"
)

// Host is what the broker does as root.
type Host interface {
	// Listen opens a UDP socket and a TCP listener at an address in a network namespace.
	Listen(netnsPath, address string) (udp, tcp *os.File, err error)
	// Apply runs one nft transaction in a network namespace.
	Apply(netnsPath, transaction string) error
	// Dial returns a socket that is connected, or connecting, to one of the host's name servers.
	Dial(server int, network string) (*os.File, error)
}

// Settings are the limits of what the resolver may ask for.
type Settings struct {
	// Refused are the ranges whose addresses no machine is allowed to connect to.
	Refused []netip.Prefix
	// LookupsPerSecond is the rate of all machines together.
	LookupsPerSecond float64
}

const (
	// orderTimeout is how long the resolver may take for an order. It is longer than an nft transaction that the order may have to wait for.
	orderTimeout = 7 * time.Second
	// policyTimeout is how long after its request a policy may still be applied. With the nft transaction it is shorter than the host process
	// waits: a policy that the host process reported as failed takes no effect later.
	policyTimeout = 9 * time.Second
	// burstSeconds is how many seconds' worth of requests may come at once: answers of slow name servers can arrive together.
	burstSeconds = 10
	// maxOpening is the number of nft transactions of the resolver that run or wait at a time.
	maxOpening = 256
)

// served is a machine whose sockets the resolver has.
type served struct {
	netnsPath string
	opens     *rate.Bucket
	// removed is set as soon as the machine is to be removed. A holder of rules checks it before each transaction.
	removed atomic.Bool
	// rules guards mode and the order of nft transactions.
	rules sync.Mutex
	mode  names.Mode
}

var errRemoved = errors.New("the machine was removed")

// Broker serves one resolver.
type Broker struct {
	conn     *wire.Conn
	host     Host
	settings Settings
	opens    *rate.Bucket
	dials    *rate.Bucket
	opening  chan struct{}
	// policyTimeout is the constant; shorter in tests.
	policyTimeout time.Duration
	// stopped is closed when the resolver can no longer be used.
	stopped chan struct{}

	mu       sync.Mutex
	lastID   uint32
	orders   map[uint32]chan wire.FromResolver
	machines map[int]*served
}

// New creates a broker whose resolver is at the other end of a connection.
func New(conn *wire.Conn, host Host, settings Settings) *Broker {
	lookups := settings.LookupsPerSecond
	dials := lookups * upstream.MaxServers * upstream.Rounds
	return &Broker{
		conn:          conn,
		host:          host,
		policyTimeout: policyTimeout,
		settings:      settings,
		opens:         rate.NewBucket(lookups, lookups*burstSeconds),
		dials:         rate.NewBucket(dials, dials*burstSeconds),
		opening:       make(chan struct{}, maxOpening),
		stopped:       make(chan struct{}),
		orders:        map[uint32]chan wire.FromResolver{},
		machines:      map[int]*served{},
	}
}

// Add opens the sockets of a machine and hands them to the resolver. Sockets that it has of an earlier machine are closed first.
func (b *Broker) Add(slot int, netnsPath, address string, mode names.Mode, patterns []string) error {
	if err := b.Remove(slot); err != nil {
		return err
	}
	udp, tcp, err := b.host.Listen(netnsPath, address)
	if err != nil {
		return err
	}
	defer udp.Close()
	defer tcp.Close()
	opens := rate.NewBucket(machine.MaxQueriesPerSecond, machine.MaxQueriesPerSecond*burstSeconds)
	b.mu.Lock()
	b.machines[slot] = &served{netnsPath: netnsPath, opens: opens, mode: mode}
	b.mu.Unlock()
	_, err = b.order(wire.FromBroker{Action: wire.Serve, Slot: slot, Mode: mode, Names: patterns}, udp, tcp)
	return err
}

// SetPolicy replaces the policy of a machine and its rules in one transaction. When it fails, both stay as they were.
func (b *Broker) SetPolicy(slot int, mode names.Mode, patterns []string, transaction string) error {
	requestedAt := time.Now()
	found := b.find(slot)
	if found == nil {
		return fmt.Errorf("slot %d is not served", slot)
	}
	order := wire.FromBroker{Action: wire.Policy, ID: b.nextID(), Slot: slot, Mode: mode, Names: patterns}
	kept, err := b.order(order)
	if err != nil {
		return err
	}
	decision := wire.FromBroker{Action: wire.Commit, ID: order.ID}
	if err = b.apply(found, requestedAt, mode, transaction, kept.Entries); err != nil {
		decision.Action = wire.Abort
	}
	return errors.Join(err, b.conn.SendToResolver(decision))
}

// apply puts a policy into force, unless the machine was removed or the request is too old by now: the resolver decides when it answers.
func (b *Broker) apply(found *served, requestedAt time.Time, mode names.Mode, transaction string, kept []wire.Entry) error {
	if len(kept) > 0 && mode != names.List {
		return errors.New("the resolver keeps addresses open without a list")
	}
	if err := b.check(kept); err != nil {
		return err
	}
	found.rules.Lock()
	defer found.rules.Unlock()
	if found.removed.Load() {
		return errRemoved
	}
	if time.Since(requestedAt) > b.policyTimeout {
		return fmt.Errorf("the new policy took longer than %s", b.policyTimeout)
	}
	if err := b.host.Apply(found.netnsPath, transaction+firewall.Open(kept)); err != nil {
		return err
	}
	found.mode = mode
	return nil
}

// Remove makes the resolver close the sockets of a machine. A slot that is not served is not an error. Afterwards no request for the machine
// changes rules, not even one that was waiting or a policy that the resolver has not answered: the next machine in the slot has the same path.
func (b *Broker) Remove(slot int) error {
	b.mu.Lock()
	found := b.machines[slot]
	delete(b.machines, slot)
	if found != nil {
		found.removed.Store(true)
	}
	b.mu.Unlock()
	if found == nil {
		return nil
	}
	// Only for the transaction that runs: those that wait see that the machine was removed.
	found.rules.Lock()
	found.rules.Unlock()
	_, err := b.order(wire.FromBroker{Action: wire.Remove, Slot: slot})
	return err
}

func (b *Broker) find(slot int) *served {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.machines[slot]
}

func (b *Broker) nextID() uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastID++
	return b.lastID
}

// order waits until the resolver has carried out an order. A resolver that does not answer is useless: the connection is closed, which
// ends Run.
func (b *Broker) order(order wire.FromBroker, files ...*os.File) (wire.FromResolver, error) {
	if order.ID == 0 {
		order.ID = b.nextID()
	}
	answer := make(chan wire.FromResolver, 1)
	b.mu.Lock()
	b.orders[order.ID] = answer
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.orders, order.ID)
	}()
	if err := b.conn.SendToResolver(order, files...); err != nil {
		b.conn.Close()
		return wire.FromResolver{}, err
	}
	timer := time.NewTimer(orderTimeout)
	defer timer.Stop()
	select {
	case report := <-answer:
		if report.Kind == wire.Failed {
			return report, fmt.Errorf("the resolver could not carry out %q for slot %d", order.Action, order.Slot)
		}
		return report, nil
	case <-b.stopped:
		return wire.FromResolver{}, errors.New("the resolver exited")
	case <-timer.C:
		b.conn.Close()
		return wire.FromResolver{}, fmt.Errorf("the resolver did not answer within %s", orderTimeout)
	}
}
