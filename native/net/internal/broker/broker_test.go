package broker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mayfly/net/internal/firewall"
	"mayfly/net/internal/machine"
	"mayfly/net/internal/names"
	"mayfly/net/internal/wire"
)

// fakeHost records transactions and opens sockets on the loopback interface.
type fakeHost struct {
	mu           sync.Mutex
	transactions []string
	failing      error
	// gate, if it is not nil, holds transactions back until it is closed.
	gate chan struct{}
}

func (h *fakeHost) Listen(_, _ string) (udp, tcp *os.File, err error) { return listen("127.0.0.1:0") }

func (h *fakeHost) Apply(netnsPath, transaction string) error {
	if h.gate != nil {
		<-h.gate
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failing != nil {
		return h.failing
	}
	h.transactions = append(h.transactions, netnsPath+": "+transaction)
	return nil
}

func (h *fakeHost) Dial(server int, network string) (*os.File, error) {
	if server != 0 {
		return nil, errors.New("no such server")
	}
	conn, err := net.Dial("udp4", "127.0.0.1:9")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(*net.UDPConn).File()
}

func (h *fakeHost) applied() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.transactions, "")
}

// hostile is a resolver that was taken over: it sends what the test wants and carries out orders only as far as the test wants.
type hostile struct {
	t      *testing.T
	conn   *wire.Conn
	broker *Broker
	host   *fakeHost
	ended  chan error
	// fd is the same socket, for bytes that are no message.
	fd     int
	buffer []byte
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	ours, file, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := wire.FromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	host := &fakeHost{}
	refused := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("0.0.0.0/8")}
	broker := New(ours, host, Settings{Refused: refused, LookupsPerSecond: 500})
	h := &hostile{t: t, conn: theirs, broker: broker, host: host, ended: make(chan error, 1), fd: fd, buffer: make([]byte, wire.MaxFromBrokerBytes)}
	go func() { h.ended <- broker.Run() }()
	t.Cleanup(func() {
		theirs.Close()
		syscall.Close(fd)
		<-broker.stopped
	})
	return h
}

func (h *hostile) raw(text []byte) error {
	_, err := syscall.Write(h.fd, text)
	return err
}

func (h *hostile) receive() (wire.FromBroker, []*os.File) {
	h.t.Helper()
	message, files, err := h.conn.ReceiveFromBroker(h.buffer)
	if err != nil {
		h.t.Fatal(err)
	}
	return message, files
}

func (h *hostile) send(message wire.FromResolver) {
	h.t.Helper()
	if err := h.conn.SendToBroker(message); err != nil {
		h.t.Fatal(err)
	}
}

// ask sends a request and reports whether it was granted.
func (h *hostile) ask(message wire.FromResolver) bool {
	h.t.Helper()
	h.send(message)
	result, files := h.receive()
	for _, file := range files {
		file.Close()
	}
	if result.Action != wire.Result || result.ID != message.ID || (result.Failed && len(files) > 0) {
		h.t.Fatalf("answered with %+v", result)
	}
	return !result.Failed
}

// add makes the broker hand over a machine and returns its sockets.
func (h *hostile) add(slot int, mode names.Mode) []*os.File {
	h.t.Helper()
	added := make(chan error, 1)
	go func() {
		added <- h.broker.Add(slot, fmt.Sprintf("/run/netns/mayfly-%d", slot), "10.213.0.1:53", mode, []string{"a.test"})
	}()
	order, files := h.receive()
	if order.Action != wire.Serve || order.Slot != slot || len(files) != 2 {
		h.t.Fatalf("%+v with %d sockets", order, len(files))
	}
	h.t.Cleanup(func() {
		for _, file := range files {
			file.Close()
		}
	})
	h.send(wire.FromResolver{Kind: wire.Done, ID: order.ID})
	if err := <-added; err != nil {
		h.t.Fatal(err)
	}
	return files
}

// remove makes the broker take a machine back.
func (h *hostile) remove(slot int) {
	h.t.Helper()
	removed := make(chan error, 1)
	go func() { removed <- h.broker.Remove(slot) }()
	order, _ := h.receive()
	h.send(wire.FromResolver{Kind: wire.Done, ID: order.ID})
	if err := <-removed; err != nil || order.Action != wire.Remove {
		h.t.Fatal(order, err)
	}
}

func entry(ip string, seconds int) []wire.Entry {
	return []wire.Entry{{IP: netip.MustParseAddr(ip), For: time.Duration(seconds) * time.Second}}
}

func TestTheResolverOpensOnlyWhatItsMachinesMayReach(t *testing.T) {
	h := newHostile(t)
	h.add(5, names.List)
	h.add(6, names.None)
	h.add(7, names.All)
	for name, request := range map[string]wire.FromResolver{
		"a foreign machine":          {Number: 4, Entries: entry("203.0.113.1", 60)},
		"a slot that does not exist": {Number: 65535, Entries: entry("203.0.113.1", 60)},
		"a machine without network":  {Number: 6, Entries: entry("203.0.113.1", 60)},
		"a machine without a list":   {Number: 7, Entries: entry("203.0.113.1", 60)},
		"a refused address":          {Number: 5, Entries: entry("10.1.2.3", 60)},
		"one refused address of two": {Number: 5, Entries: append(entry("203.0.113.1", 60), entry("10.1.2.3", 60)...)},
		"the unspecified address":    {Number: 5, Entries: entry("0.0.0.0", 60)},
		"for ever":                   {Number: 5, Entries: entry("203.0.113.1", int(machine.MaxOpenFor/time.Second)+1)},
		"for no time":                {Number: 5, Entries: entry("203.0.113.1", 0)},
		"nothing":                    {Number: 5},
	} {
		request.Kind, request.ID = wire.Open, 11
		if h.ask(request) {
			t.Errorf("%s was opened: %s", name, h.host.applied())
		}
	}
	if applied := h.host.applied(); applied != "" {
		t.Fatalf("a refused request changed rules: %s", applied)
	}
	if !h.ask(wire.FromResolver{Kind: wire.Open, ID: 12, Number: 5, Entries: entry("203.0.113.1", 60)}) {
		t.Fatal("an allowed address was refused")
	}
	want := "/run/netns/mayfly-5: add element inet mayfly resolved { 203.0.113.1 timeout 60s }\n"
	if applied := h.host.applied(); !strings.HasPrefix(applied, want) || strings.Count(applied, "\n") != 3 {
		t.Fatal(applied)
	}
}

func TestAMachineThatWasRemovedCannotBeOpened(t *testing.T) {
	h := newHostile(t)
	h.add(5, names.List)
	h.remove(5)
	if h.ask(wire.FromResolver{Kind: wire.Open, ID: 1, Number: 5, Entries: entry("203.0.113.1", 60)}) {
		t.Fatal("opened")
	}
}

func TestARemovalDoesNotWaitForRequestsThatWaitToo(t *testing.T) {
	h := newHostile(t)
	h.add(5, names.List)
	h.host.gate = make(chan struct{})
	const flood = maxOpening
	for range flood {
		h.send(wire.FromResolver{Kind: wire.Open, ID: 1, Number: 5, Entries: entry("203.0.113.1", 60)})
	}
	for len(h.broker.opening) < flood {
		time.Sleep(time.Millisecond)
	}
	removed := make(chan error, 1)
	go func() { removed <- h.broker.Remove(5) }()
	for h.broker.find(5) != nil {
		time.Sleep(time.Millisecond)
	}
	close(h.host.gate)
	for range flood + 1 {
		if message, _ := h.receive(); message.Action == wire.Remove {
			h.send(wire.FromResolver{Kind: wire.Done, ID: message.ID})
		}
	}
	if err := <-removed; err != nil {
		t.Fatal(err)
	}
	// The one that was running.
	if count := len(h.host.transactions); count > 1 {
		t.Fatalf("%d transactions of a machine that was removed", count)
	}
}

// The next machine in a slot has the same network namespace path as the one before.
func TestAPolicyThatIsAnsweredAfterTheRemovalChangesNoRulesOfTheNextMachine(t *testing.T) {
	h := newHostile(t)
	h.add(5, names.List)
	changed := make(chan error, 1)
	go func() { changed <- h.broker.SetPolicy(5, names.List, []string{"b.test"}, "accept everything\n") }()
	heldBack, _ := h.receive()
	h.remove(5)
	h.add(5, names.List)
	h.send(wire.FromResolver{Kind: wire.Done, ID: heldBack.ID, Entries: entry("203.0.113.1", 60)})
	decision, _ := h.receive()
	if err := <-changed; err == nil || decision.Action != wire.Abort || decision.ID != heldBack.ID {
		t.Errorf("%+v %v", decision, err)
	}
	if applied := h.host.applied(); applied != "" {
		t.Errorf("the rules of the next machine were changed: %s", applied)
	}
}

func TestAPolicyThatIsAnsweredTooLateIsNotApplied(t *testing.T) {
	h := newHostile(t)
	h.add(5, names.List)
	h.broker.policyTimeout = 0
	changed := make(chan error, 1)
	go func() { changed <- h.broker.SetPolicy(5, names.All, nil, "accept everything\n") }()
	order, _ := h.receive()
	h.send(wire.FromResolver{Kind: wire.Done, ID: order.ID})
	decision, _ := h.receive()
	if err := <-changed; err == nil || !strings.Contains(err.Error(), "took longer than") || decision.Action != wire.Abort || h.host.applied() != "" {
		t.Fatal(decision, err, h.host.applied())
	}
}

// What the host process reports as failed must not take effect later.
func TestAPolicyIsDecidedBeforeTheHostProcessGivesUp(t *testing.T) {
	const path = "../../../../packages/server/src/core/ports/machine-deadlines.ts"
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`resolverMs: ([\d_]+),`).FindSubmatch(source)
	if found == nil {
		t.Fatalf("%s has no deadline", path)
	}
	milliseconds, err := strconv.Atoi(strings.ReplaceAll(string(found[1]), "_", ""))
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Duration(milliseconds) * time.Millisecond
	if slowest := policyTimeout + firewall.Timeout; slowest >= deadline {
		t.Errorf("a policy may be applied %s after the request, the host process waits %s", slowest, deadline)
	}
	if slowest := firewall.Timeout + orderTimeout; slowest >= deadline {
		t.Errorf("a removal takes up to %s, the host process waits %s", slowest, deadline)
	}
	if orderTimeout <= firewall.Timeout {
		t.Error("an order may have to wait for a transaction that takes longer than the order may")
	}
}

func TestRequestsAreLimited(t *testing.T) {
	h := newHostile(t)
	h.add(5, names.List)
	// Nothing refills during the test, however slow the host is.
	h.broker.find(5).opens.PerSecond, h.broker.dials.PerSecond = 0, 0
	granted := 0
	for range 3000 {
		if h.ask(wire.FromResolver{Kind: wire.Open, ID: 1, Number: 5, Entries: entry("203.0.113.1", 60)}) {
			granted++
		}
	}
	if granted != machine.MaxQueriesPerSecond*burstSeconds {
		t.Errorf("%d of 3000 openings were granted", granted)
	}
	h.broker.dials.Burst = 3
	granted = 0
	for range 20 {
		if h.ask(wire.FromResolver{Kind: wire.DialUDP, ID: 1}) {
			granted++
		}
	}
	if granted != 3 {
		t.Errorf("%d of 20 connections were granted", granted)
	}
	if h.ask(wire.FromResolver{Kind: wire.DialTCP, ID: 1, Number: 9}) {
		t.Error("a server that the host does not have")
	}
}

func TestAMalformedMessageEndsTheResolver(t *testing.T) {
	for name, message := range map[string]wire.FromResolver{
		"an unknown kind": {Kind: 99},
		"ready again":     {Kind: wire.Ready},
	} {
		h := newHostile(t)
		h.send(message)
		if err := <-h.ended; err == nil || err == io.EOF {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A resolver that sends requests and never reads the answers fills the socket. The broker cuts it off instead of waiting for ever.
func TestAResolverThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	go func() {
		for h.conn.SendToBroker(wire.FromResolver{Kind: wire.DialTCP, Number: 9}) == nil {
		}
	}()
	select {
	case <-h.ended:
	case <-time.After(5 * time.Minute):
		t.Fatal("the broker still waits")
	}
	if err := h.broker.Add(1, "/run/netns/mayfly-1", "10.213.0.1:53", names.All, nil); err == nil {
		t.Fatal("a machine was handed to a resolver that is gone")
	}
}

func TestAPolicyIsAppliedWithTheAddressesItKeepsOrNotAtAll(t *testing.T) {
	h := newHostile(t)
	h.add(5, names.List)
	attempt := func(mode names.Mode, kept []wire.Entry) (wire.Action, error) {
		changed := make(chan error, 1)
		go func() { changed <- h.broker.SetPolicy(5, mode, []string{"b.test"}, "flush set inet mayfly resolved\n") }()
		order, _ := h.receive()
		h.send(wire.FromResolver{Kind: wire.Done, ID: order.ID, Entries: kept})
		decision, _ := h.receive()
		if decision.ID != order.ID {
			t.Fatalf("decision %+v for order %d", decision, order.ID)
		}
		return decision.Action, <-changed
	}
	if action, err := attempt(names.List, entry("10.0.0.1", 60)); action != wire.Abort || err == nil || h.host.applied() != "" {
		t.Fatal(action, err, h.host.applied())
	}
	if action, err := attempt(names.None, entry("203.0.113.1", 60)); action != wire.Abort || err == nil || h.host.applied() != "" {
		t.Fatal(action, err, h.host.applied())
	}
	if action, err := attempt(names.List, entry("203.0.113.1", 60)); action != wire.Commit || err != nil {
		t.Fatal(action, err)
	}
	if applied := h.host.applied(); !strings.Contains(applied, "flush set inet mayfly resolved\nadd element inet mayfly resolved { 203.0.113.1") {
		t.Fatal(applied)
	}
	h.host.failing = errors.New("no such table")
	if action, err := attempt(names.None, nil); action != wire.Abort || err == nil {
		t.Fatal(action, err)
	}
	h.host.failing = nil
	if !h.ask(wire.FromResolver{Kind: wire.Open, ID: 1, Number: 5, Entries: entry("203.0.113.1", 60)}) {
		t.Fatal("the policy that could not be applied is in force")
	}
	if action, err := attempt(names.None, nil); action != wire.Commit || err != nil {
		t.Fatal(action, err)
	}
	if h.ask(wire.FromResolver{Kind: wire.Open, ID: 1, Number: 5, Entries: entry("203.0.113.1", 60)}) {
		t.Fatal("opened without a list")
	}
}

func TestAProcessWithPrivilegesIsNoResolver(t *testing.T) {
	if err := checkConfined("/proc/self", uint32(os.Getuid())); err == nil || !strings.Contains(err.Error(), "not confined") {
		t.Fatal(err)
	}
	if err := checkConfined("/proc/self/nothing", 1); err == nil {
		t.Fatal("a process that does not exist is confined")
	}
}
