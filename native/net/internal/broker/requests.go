package broker

import (
	"errors"
	"fmt"
	"os"
	"time"

	"mayfly/net/internal/firewall"
	"mayfly/net/internal/machine"
	"mayfly/net/internal/names"
	"mayfly/net/internal/wire"
)

// AwaitReady waits for the resolver's first message.
func (b *Broker) AwaitReady() error {
	var buffer [wire.MaxFromResolverBytes + 1]byte
	message, err := b.conn.ReceiveFromResolver(&buffer)
	if err != nil {
		return err
	}
	if message.Kind != wire.Ready {
		return fmt.Errorf("the resolver began with a message of kind %d", message.Kind)
	}
	return nil
}

// Run handles the resolver's messages until the connection ends or a message is malformed. Whatever the resolver sends, it gets sockets
// of name servers and elements of the sets of machines that it serves, within the limits, and nothing else.
func (b *Broker) Run() error {
	defer close(b.stopped)
	defer b.conn.Close()
	var buffer [wire.MaxFromResolverBytes + 1]byte
	for {
		message, err := b.conn.ReceiveFromResolver(&buffer)
		if err != nil {
			return err
		}
		switch message.Kind {
		case wire.Done, wire.Failed:
			b.finishOrder(message)
		case wire.Open:
			b.startOpening(message)
		case wire.DialUDP:
			b.dial(message, "udp")
		case wire.DialTCP:
			b.dial(message, "tcp")
		default:
			return fmt.Errorf("unexpected message of kind %d", message.Kind)
		}
	}
}

func (b *Broker) finishOrder(report wire.FromResolver) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answer, ok := b.orders[report.ID]; ok {
		delete(b.orders, report.ID)
		answer <- report
	}
}

// startOpening changes the rules in the background. Requests over the limits fail at once.
func (b *Broker) startOpening(request wire.FromResolver) {
	select {
	case b.opening <- struct{}{}:
		go func() {
			defer func() { <-b.opening }()
			b.respond(request.ID, b.open(request))
		}()
	default:
		b.respond(request.ID, errTooMany)
	}
}

var errTooMany = errors.New("too many requests")

// open adds addresses to the set of a machine that the resolver serves and that has a list of names.
func (b *Broker) open(request wire.FromResolver) error {
	found := b.find(int(request.Number))
	if found == nil {
		return fmt.Errorf("slot %d is not served", request.Number)
	}
	if len(request.Entries) == 0 {
		return errors.New("no addresses")
	}
	if err := b.check(request.Entries); err != nil {
		return err
	}
	if !found.opens.Take() || !b.opens.Take() {
		return errTooMany
	}
	found.rules.Lock()
	defer found.rules.Unlock()
	if found.removed.Load() {
		return errRemoved
	}
	if found.mode != names.List {
		return errors.New("the machine has no list of names")
	}
	return b.host.Apply(found.netnsPath, firewall.Open(request.Entries))
}

// check refuses addresses that no machine may connect to, and times that no lookup results in.
func (b *Broker) check(entries []wire.Entry) error {
	for _, entry := range entries {
		for _, refused := range b.settings.Refused {
			if refused.Contains(entry.IP) {
				return fmt.Errorf("%s is in the refused range %s", entry.IP, refused)
			}
		}
		if !entry.IP.Is4() || entry.For < time.Second || entry.For > machine.MaxOpenFor {
			return fmt.Errorf("%s for %s", entry.IP, entry.For)
		}
	}
	return nil
}

func (b *Broker) dial(request wire.FromResolver, network string) {
	if !b.dials.Take() {
		b.respond(request.ID, errTooMany)
		return
	}
	socket, err := b.host.Dial(int(request.Number), network)
	if err != nil {
		b.respond(request.ID, err)
		return
	}
	defer socket.Close()
	b.respond(request.ID, nil, socket)
}

// respond answers a request. A resolver that does not read its answers is cut off, which ends Run.
func (b *Broker) respond(request uint32, failure error, sockets ...*os.File) {
	result := wire.FromBroker{Action: wire.Result, ID: request, Failed: failure != nil}
	if err := b.conn.SendToResolver(result, sockets...); err != nil {
		b.conn.Close()
	}
}
