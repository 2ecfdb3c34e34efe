package wire

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"mayfly/net/internal/names"
)

func FuzzParseFromResolver(f *testing.F) {
	entry := Entry{IP: netip.MustParseAddr("203.0.113.1"), For: time.Minute}
	f.Add(FromResolver{Kind: Open, ID: 7, Number: 3, Entries: []Entry{entry, entry}}.Append(nil))
	f.Add(FromResolver{Kind: DialUDP, ID: 1, Number: 2}.Append(nil))
	f.Add(FromResolver{Kind: Done, Entries: make([]Entry, 0)}.Append(nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		message, err := ParseFromResolver(text)
		if err != nil {
			return
		}
		if len(message.Entries) > MaxEntries {
			t.Fatalf("%d entries", len(message.Entries))
		}
		if again := message.Append(nil); !bytes.Equal(again, text) {
			t.Fatalf("%x was read as %x", text, again)
		}
	})
}

func pair(t *testing.T) (broker, resolver *Conn) {
	t.Helper()
	broker, file, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	if resolver, err = FromFile(file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		broker.Close()
		resolver.Close()
	})
	return broker, resolver
}

func TestMessagesThatAreNotOfTheFixedFormAreRefused(t *testing.T) {
	good := FromResolver{Kind: Open, ID: 1, Number: 1, Entries: []Entry{{IP: netip.MustParseAddr("203.0.113.1"), For: time.Minute}}}
	for name, text := range map[string][]byte{
		"too short":            {1, 2, 3},
		"no kind":              FromResolver{}.Append(nil),
		"an unknown kind":      FromResolver{Kind: DialTCP + 1}.Append(nil),
		"a missing byte":       good.Append(nil)[:16],
		"one byte more":        append(good.Append(nil), 0),
		"entries with a dial":  FromResolver{Kind: DialTCP, Entries: good.Entries}.Append(nil),
		"too many entries":     FromResolver{Kind: Open, Entries: bigEntries()}.Append(nil),
		"a text for a machine": []byte(`{"op":"remove","slot":1}`),
	} {
		if message, err := ParseFromResolver(text); err == nil {
			t.Errorf("%s: %+v", name, message)
		}
	}
}

func bigEntries() []Entry {
	entries := make([]Entry, MaxEntries+1)
	for index := range entries {
		entries[index].IP = netip.MustParseAddr("203.0.113.1")
	}
	return entries
}

func TestAListOfNamesThatIsLongerThanASocketsBufferArrives(t *testing.T) {
	broker, resolver := pair(t)
	var many []string
	for number := range 1000 {
		many = append(many, fmt.Sprintf("%d.%s.test", number, strings.Repeat("a", 240)))
	}
	go func() {
		_ = broker.SendToResolver(FromBroker{Action: Policy, ID: 1, Slot: 9, Mode: names.List, Names: many})
		_ = broker.SendToResolver(FromBroker{Action: Remove, ID: 2, Slot: 9})
	}()
	buffer := make([]byte, MaxFromBrokerBytes)
	order, _, err := resolver.ReceiveFromBroker(buffer)
	if err != nil || len(order.Names) != len(many) || order.Names[999] != many[999] || order.Slot != 9 {
		t.Fatal(err, len(order.Names))
	}
	if order, _, err := resolver.ReceiveFromBroker(buffer); err != nil || order.Action != Remove || order.Names != nil {
		t.Fatal(err, order)
	}
}

func TestSocketsAreHandedOver(t *testing.T) {
	broker, resolver := pair(t)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if err := broker.SendToResolver(FromBroker{Action: Result, ID: 1}, file); err != nil {
		t.Fatal(err)
	}
	file.Close()
	_, files, err := resolver.ReceiveFromBroker(make([]byte, MaxFromBrokerBytes))
	if err != nil || len(files) != 1 {
		t.Fatal(err, files)
	}
	received, err := net.FileListener(files[0])
	files[0].Close()
	if err != nil || received.Addr().String() != listener.Addr().String() {
		t.Fatal(err, received)
	}
	received.Close()
}

// The broker never has room for descriptors, so the kernel closes those that a hostile resolver sends.
func TestTheBrokerTakesNoDescriptors(t *testing.T) {
	broker, resolver := pair(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := resolver.SendToResolver(FromBroker{Action: Result}, writer); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	var buffer [MaxFromResolverBytes + 1]byte
	if _, err := broker.ReceiveFromResolver(&buffer); err == nil {
		t.Fatal("text was read as a message")
	}
	if _, err := reader.Read(make([]byte, 1)); err != io.EOF {
		t.Fatal("the broker holds the descriptor:", err)
	}
}
