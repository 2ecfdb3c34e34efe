package broker

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"mayfly/net/internal/names"
	"mayfly/net/internal/wire"
)

// generate makes messages of the right form with any content: orders that nobody gave, foreign machines, refused and public addresses,
// servers that do not exist, and ids used again and again.
func generate(random *rand.Rand) wire.FromResolver {
	kinds := []wire.Kind{wire.Done, wire.Failed, wire.Open, wire.Open, wire.Open, wire.DialUDP, wire.DialTCP}
	message := wire.FromResolver{Kind: kinds[random.IntN(len(kinds))], ID: random.Uint32N(50), Number: uint16(random.UintN(12))}
	if message.Kind != wire.Open && message.Kind != wire.Done {
		message.Number = uint16(random.UintN(1 << 16))
		return message
	}
	for range random.IntN(4) {
		var ip [4]byte
		binary.BigEndian.PutUint32(ip[:], random.Uint32())
		if random.IntN(3) == 0 {
			ip[0] = 10
		}
		seconds := time.Duration(random.Uint32N(200_000))
		message.Entries = append(message.Entries, wire.Entry{IP: netip.AddrFrom4(ip), For: seconds * time.Second})
	}
	return message
}

func TestAHundredThousandHostileMessagesOpenOnlyWhatIsAllowed(t *testing.T) {
	h := newHostile(t)
	h.add(5, names.List)
	h.add(6, names.None)
	const total = 100_000
	random := rand.New(rand.NewPCG(13, 0))
	requests := 0
	refused := make(chan int, 1)
	answers := make(chan int)
	go func() {
		failed := 0
		for expected := range answers {
			for range expected {
				result, files, err := h.conn.ReceiveFromBroker(h.buffer)
				if err != nil {
					break
				}
				for _, file := range files {
					file.Close()
				}
				if result.Failed {
					failed++
				}
			}
		}
		refused <- failed
	}()
	for range total {
		message := generate(random)
		h.send(message)
		if message.Kind != wire.Done && message.Kind != wire.Failed {
			requests++
			answers <- 1
		}
	}
	close(answers)
	granted := requests - <-refused
	for transaction := range strings.Lines(h.host.applied()) {
		if path, rest, ok := strings.Cut(transaction, ": "); ok {
			if path != "/run/netns/mayfly-5" {
				t.Fatalf("the rules of another machine were changed: %s", transaction)
			}
			transaction = rest
		}
		_, address, _ := strings.Cut(transaction, "{ ")
		ip, err := netip.ParseAddr(strings.Fields(address)[0])
		if err != nil || strings.HasPrefix(ip.String(), "10.") || strings.HasPrefix(ip.String(), "0.") {
			t.Fatalf("%q was opened", transaction)
		}
	}
	t.Logf("%d messages, %d of them requests, %d granted", total, requests, granted)
	if granted == 0 || granted == requests {
		t.Fatal("the test shows nothing")
	}
	if !h.ask(wire.FromResolver{Kind: wire.DialUDP, ID: 1}) && h.broker.dials.Take() {
		t.Fatal("the broker does not work any more")
	}
}

func TestRandomBytesEndTheConnectionAndNothingElse(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 0))
	for range 500 {
		text := make([]byte, random.IntN(64))
		for index := range text {
			text[index] = byte(random.Uint32())
		}
		if _, err := wire.ParseFromResolver(text); err == nil {
			continue
		}
		h := newHostile(t)
		h.add(5, names.List)
		if err := h.raw(text); err != nil {
			t.Fatal(err)
		}
		if err := <-h.ended; err == nil {
			t.Fatalf("%x was accepted", text)
		}
		if applied := h.host.applied(); applied != "" {
			t.Fatal(applied)
		}
	}
}
