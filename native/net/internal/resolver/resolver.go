// Package resolver answers the lookups of machines without any privileges. It gets every socket from the broker and asks the broker to
// change the rules of a machine.
package resolver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"mayfly/net/internal/machine"
	"mayfly/net/internal/names"
	"mayfly/net/internal/wire"
)

var (
	errRefused = errors.New("the broker refused the request")
	errAborted = errors.New("the rules were not changed")
)

// result is the broker's answer to a request.
type result struct {
	failed bool
	files  []*os.File
}

// Resolver carries out the broker's orders.
type Resolver struct {
	conn   *wire.Conn
	shared machine.Shared

	mu        sync.Mutex
	lastID    uint32
	requests  map[uint32]chan result
	decisions map[uint32]chan error
	serving   map[int]*machine.Machine
}

// New creates a resolver that takes its orders from a connection. The servers of shared are replaced by the ones that the broker names.
func New(conn *wire.Conn, shared machine.Shared) *Resolver {
	resolver := &Resolver{
		conn:      conn,
		shared:    shared,
		requests:  map[uint32]chan result{},
		decisions: map[uint32]chan error{},
		serving:   map[int]*machine.Machine{},
	}
	resolver.shared.Servers = resolver
	return resolver
}

// Serve says that the resolver is ready and carries out orders until the broker closes the connection.
func (r *Resolver) Serve() error {
	if err := r.conn.SendToBroker(wire.FromResolver{Kind: wire.Ready}); err != nil {
		return err
	}
	buffer := make([]byte, wire.MaxFromBrokerBytes)
	for {
		message, files, err := r.conn.ReceiveFromBroker(buffer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch message.Action {
		case wire.Result:
			r.finishRequest(message, files)
		case wire.Commit:
			r.decide(message.ID, nil)
		case wire.Abort:
			r.decide(message.ID, errAborted)
		default:
			go r.report(message.ID, r.carryOut(message, files))
		}
	}
}

// carryOut starts an order before the next one is read, so that orders for one machine are carried out in their sequence.
func (r *Resolver) carryOut(order wire.FromBroker, files []*os.File) func() error {
	switch order.Action {
	case wire.Serve:
		err := r.serve(order, files)
		return func() error { return err }
	case wire.Remove:
		r.remove(order.Slot)
		return func() error { return nil }
	case wire.Policy:
		decision := make(chan error, 1)
		r.mu.Lock()
		defer r.mu.Unlock()
		found := r.serving[order.Slot]
		r.decisions[order.ID] = decision
		return func() error { return r.setPolicy(order, found, decision) }
	}
	return func() error { return fmt.Errorf("unknown order %q", order.Action) }
}

// errReported says that the broker already has its answer.
var errReported = errors.New("reported")

func (r *Resolver) report(id uint32, work func() error) {
	kind := wire.Done
	if err := work(); errors.Is(err, errReported) {
		return
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "mayfly-net resolver:", err)
		kind = wire.Failed
	}
	r.send(wire.FromResolver{Kind: kind, ID: id})
}

// send ends the process when the broker is gone: without it the resolver can do nothing.
func (r *Resolver) send(message wire.FromResolver) {
	if err := r.conn.SendToBroker(message); err != nil {
		r.conn.Close()
	}
}

// serve starts serving a slot. A server that the slot already has is closed first.
func (r *Resolver) serve(order wire.FromBroker, files []*os.File) error {
	r.remove(order.Slot)
	policy, err := names.New(order.Mode, order.Names)
	if err != nil {
		closeAll(files)
		return err
	}
	sockets, err := machine.SocketsFrom(files)
	if err != nil {
		return err
	}
	slot := order.Slot
	allow := func(entries []wire.Entry) error { return r.open(slot, entries) }
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serving[slot] = machine.Start(sockets, allow, &r.shared, policy)
	return nil
}

// remove stops serving a slot. A slot that is not served is not an error.
func (r *Resolver) remove(slot int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.serving[slot]; found != nil {
		found.Close()
		delete(r.serving, slot)
	}
}

// setPolicy tells the broker which addresses the new policy keeps open. The old policy stays in force until the broker has decided, and
// no lookup of the machine is answered meanwhile.
func (r *Resolver) setPolicy(order wire.FromBroker, found *machine.Machine, decision <-chan error) error {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.decisions, order.ID)
	}()
	policy, err := names.New(order.Mode, order.Names)
	if err != nil {
		return err
	}
	if found == nil {
		return fmt.Errorf("slot %d is not served", order.Slot)
	}
	_ = found.SetPolicy(policy, func(kept []wire.Entry) error {
		r.send(wire.FromResolver{Kind: wire.Done, ID: order.ID, Entries: kept})
		return <-decision
	})
	return errReported
}

func (r *Resolver) decide(order uint32, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if decision, ok := r.decisions[order]; ok {
		delete(r.decisions, order)
		decision <- err
	}
}

// open asks the broker to allow a machine connections to addresses, and waits until the rules are in force.
func (r *Resolver) open(slot int, entries []wire.Entry) error {
	_, err := r.request(context.Background(), wire.FromResolver{Kind: wire.Open, Number: uint16(slot), Entries: entries})
	return err
}

// Dial gets a connection to one of the host's name servers from the broker.
func (r *Resolver) Dial(ctx context.Context, server int, network string) (net.Conn, error) {
	kind := wire.DialTCP
	if network == "udp" {
		kind = wire.DialUDP
	}
	files, err := r.request(ctx, wire.FromResolver{Kind: kind, Number: uint16(server)})
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	if len(files) != 1 {
		return nil, errRefused
	}
	return net.FileConn(files[0])
}

func (r *Resolver) request(ctx context.Context, message wire.FromResolver) ([]*os.File, error) {
	answer := make(chan result, 1)
	r.mu.Lock()
	r.lastID++
	message.ID = r.lastID
	r.requests[message.ID] = answer
	r.mu.Unlock()
	r.send(message)
	select {
	case result := <-answer:
		if result.failed {
			closeAll(result.files)
			return nil, errRefused
		}
		return result.files, nil
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.requests, message.ID)
		select {
		case result := <-answer:
			closeAll(result.files)
		default:
		}
		return nil, ctx.Err()
	}
}

func (r *Resolver) finishRequest(message wire.FromBroker, files []*os.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer, ok := r.requests[message.ID]
	if !ok {
		closeAll(files)
		return
	}
	delete(r.requests, message.ID)
	answer <- result{message.Failed, files}
}

func closeAll(files []*os.File) {
	for _, file := range files {
		file.Close()
	}
}
