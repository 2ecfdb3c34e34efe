package resolver_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mayfly/net/internal/broker"
	"mayfly/net/internal/machine"
	"mayfly/net/internal/names"
	"mayfly/net/internal/resolver"
	"mayfly/net/internal/wire"
)

// host stands in for root's part: it listens on the loopback interface and records transactions.
type host struct {
	mu           sync.Mutex
	transactions string
	fails        bool
	upstream     net.Addr
	udp, tcp     net.Addr
}

func (h *host) Listen(string, string) (udp, tcp *os.File, err error) {
	packets, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer packets.Close()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	h.udp, h.tcp = packets.LocalAddr(), listener.Addr()
	if udp, err = packets.(*net.UDPConn).File(); err != nil {
		return nil, nil, err
	}
	tcp, err = listener.(*net.TCPListener).File()
	return udp, tcp, err
}

func (h *host) Apply(_, transaction string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fails {
		return errors.New("nft failed")
	}
	h.transactions += transaction
	return nil
}

func (h *host) Dial(server int, network string) (*os.File, error) {
	if server != 0 {
		return nil, errors.New("no such server")
	}
	conn, err := net.Dial(network, h.upstream.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(interface{ File() (*os.File, error) }).File()
}

func (h *host) applied() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.transactions
}

// answerAll is a name server that gives every name the same address.
func answerAll(t *testing.T, address [4]byte) net.Addr {
	t.Helper()
	packets, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { packets.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			length, client, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			reply := append([]byte(nil), buffer[:length]...)
			reply[2], reply[3], reply[7] = 0x81, 0x80, 1
			reply = append(reply, 0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 90, 0, 4)
			_, _ = packets.WriteTo(append(reply, address[:]...), client)
		}
	}()
	return packets.LocalAddr()
}

type lab struct {
	t      *testing.T
	host   *host
	broker *broker.Broker
	ended  chan error
	conn   *wire.Conn
}

func newLab(t *testing.T) *lab {
	t.Helper()
	ours, file, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := wire.FromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{upstream: answerAll(t, [4]byte{203, 0, 113, 9})}
	refused := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	root := broker.New(ours, h, broker.Settings{Refused: refused, LookupsPerSecond: 500})
	l := &lab{t: t, host: h, broker: root, ended: make(chan error, 1), conn: ours}
	served := resolver.New(theirs, machine.Shared{Refused: refused, Rate: machine.NewTotalRate(500)})
	go func() { l.ended <- served.Serve() }()
	if err := root.AwaitReady(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = root.Run() }()
	t.Cleanup(func() { ours.Close() })
	return l
}

// lookUp asks for the address of a name and returns the response code and the number of answers.
func (l *lab) lookUp(name string) (rcode int, answers int) {
	l.t.Helper()
	conn, err := net.Dial("udp4", l.host.udp.String())
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close()
	query := []byte{0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(name, ".") {
		query = append(append(query, byte(len(label))), label...)
	}
	query = append(query, 0, 0, 1, 0, 1)
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Write(query); err != nil {
		l.t.Fatal(err)
	}
	reply := make([]byte, 1500)
	length, err := conn.Read(reply)
	if err != nil || length < 12 {
		l.t.Fatal(err, length)
	}
	return int(reply[3] & 15), int(binary.BigEndian.Uint16(reply[6:]))
}

func (l *lab) expect(name string, rcode, answers int) {
	l.t.Helper()
	if gotCode, gotAnswers := l.lookUp(name); gotCode != rcode || gotAnswers != answers {
		l.t.Fatalf("%s: code %d with %d answers, want %d with %d", name, gotCode, gotAnswers, rcode, answers)
	}
}

const nameError, serverFailure = 3, 2

func TestLookupsAreAnsweredAndTheirAddressesOpenedFirst(t *testing.T) {
	l := newLab(t)
	if err := l.broker.Add(3, "netns", "address", names.List, []string{"a.test"}); err != nil {
		t.Fatal(err)
	}
	l.expect("a.test", 0, 1)
	if applied := l.host.applied(); !strings.HasPrefix(applied, "add element inet mayfly resolved { 203.0.113.9 timeout 120s }") {
		t.Fatal(applied)
	}
	l.expect("b.test", nameError, 0)
}

func TestALookupFailsIfItsAddressCannotBeOpened(t *testing.T) {
	l := newLab(t)
	if err := l.broker.Add(3, "netns", "address", names.List, []string{"a.test"}); err != nil {
		t.Fatal(err)
	}
	l.host.fails = true
	l.expect("a.test", serverFailure, 0)
	l.host.fails = false
	l.expect("a.test", 0, 1)
}

func TestAPolicyChangeKeepsTheAddressesOfItsNames(t *testing.T) {
	l := newLab(t)
	if err := l.broker.Add(3, "netns", "address", names.All, nil); err != nil {
		t.Fatal(err)
	}
	l.expect("a.test", 0, 1)
	if applied := l.host.applied(); applied != "" {
		t.Fatal(applied)
	}
	l.host.fails = true
	if err := l.broker.SetPolicy(3, names.None, nil, "close\n"); err == nil {
		t.Fatal("a policy without rules is in force")
	}
	l.expect("b.test", 0, 1)
	l.host.fails = false
	if err := l.broker.SetPolicy(3, names.List, []string{"a.test"}, "list\n"); err != nil {
		t.Fatal(err)
	}
	if applied := l.host.applied(); !strings.HasPrefix(applied, "list\nadd element inet mayfly resolved { 203.0.113.9 timeout ") ||
		strings.Count(applied, "add element") != 2 {
		t.Fatal(applied)
	}
	l.expect("b.test", nameError, 0)
	if err := l.broker.SetPolicy(4, names.All, nil, ""); err == nil || !strings.Contains(err.Error(), "slot 4 is not served") {
		t.Fatal(err)
	}
}

// Lookups wait for a policy change and the change waits for them, many times and at once.
func TestLookupsAndPolicyChangesDoNotWaitForEachOther(t *testing.T) {
	l := newLab(t)
	if err := l.broker.Add(3, "netns", "address", names.List, []string{"*.test"}); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, prefix := range []string{"a", "b", "c"} {
		group.Add(1)
		go func() {
			defer group.Done()
			for number := range 20 {
				l.lookUp(prefix + string(rune('a'+number)) + ".test")
			}
		}()
	}
	for range 20 {
		if err := l.broker.SetPolicy(3, names.List, []string{"*.test"}, "list\n"); err != nil {
			t.Fatal(err)
		}
	}
	group.Wait()
}

func TestTheSocketsOfARemovedMachineAreClosed(t *testing.T) {
	l := newLab(t)
	if err := l.broker.Add(3, "netns", "address", names.All, nil); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp4", l.host.tcp.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := l.broker.Remove(3); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection is still open")
	}
	for _, address := range []net.Addr{l.host.udp, l.host.tcp} {
		if err := bind(address); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.broker.Remove(3); err != nil {
		t.Fatal(err)
	}
}

// bind succeeds if no socket has the address any more.
func bind(address net.Addr) error {
	if address.Network() == "udp" {
		packets, err := net.ListenPacket("udp4", address.String())
		if err == nil {
			packets.Close()
		}
		return err
	}
	listener, err := net.Listen("tcp4", address.String())
	if err == nil {
		listener.Close()
	}
	return err
}

func TestTheResolverEndsWithTheBroker(t *testing.T) {
	l := newLab(t)
	l.conn.Close()
	select {
	case err := <-l.ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the resolver goes on without a broker")
	}
}
