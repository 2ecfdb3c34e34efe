package dnsmsg

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func wireName(name string) []byte {
	var wire []byte
	for label := range strings.SplitSeq(name, ".") {
		wire = append(append(wire, byte(len(label))), label...)
	}
	return append(wire, 0)
}

func question(name string, kind uint16) []byte {
	message := []byte{0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	message = append(message, wireName(name)...)
	return append(message, byte(kind>>8), byte(kind), 0, 1)
}

func response(query []byte, records ...[]byte) []byte {
	message := bytes.Clone(query)
	message[2] |= 0x80
	binary.BigEndian.PutUint16(message[6:], uint16(len(records)))
	return append(message, bytes.Join(records, nil)...)
}

func record4(name []byte, kind uint16, ttl uint32, data []byte) []byte {
	wire := append(bytes.Clone(name), byte(kind>>8), byte(kind), 0, 1)
	wire = binary.BigEndian.AppendUint32(wire, ttl)
	wire = binary.BigEndian.AppendUint16(wire, uint16(len(data)))
	return append(wire, data...)
}

func mustParse(t *testing.T, message []byte) Query {
	t.Helper()
	query, rcode, ok := ParseQuery(message)
	if !ok || rcode != RcodeSuccess {
		t.Fatalf("not parsed: rcode %d, ok %v", rcode, ok)
	}
	return query
}

func TestNamesAreComparedInLowerCase(t *testing.T) {
	if name := mustParse(t, question("WWW.Example.COM", TypeA)).Name; name != "www.example.com" {
		t.Fatal(name)
	}
}

func TestADotInsideALabelIsEscaped(t *testing.T) {
	message := []byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 9, 'x', '.', 'e', 'x', 'a', 'm', 'p', 'l', 'e', 3, 'c', 'o', 'm', 0, 0, 1, 0, 1}
	if name := mustParse(t, message).Name; name != `x\046example.com` {
		t.Fatal(name)
	}
}

func TestInvalidQueriesAreRejected(t *testing.T) {
	pointer := append(question("a", TypeA)[:12], 0xC0, 12, 0, 1, 0, 1)
	update := question("a.test", TypeA)
	update[2] |= 5 << 3
	for name, c := range map[string]struct {
		message []byte
		rcode   int
		ok      bool
	}{
		"short":            {[]byte{1, 2, 3}, 0, false},
		"a response":       {response(question("a.test", TypeA)), 0, false},
		"too long":         {append(question("a.test", TypeA), make([]byte, MaxQueryBytes)...), 0, false},
		"a pointer":        {pointer, RcodeFormatError, true},
		"no question":      {make([]byte, 12), RcodeFormatError, true},
		"an update":        {update, RcodeNotImplemented, true},
		"a zone transfer":  {question("a.test", typeAXFR), RcodeNotImplemented, true},
		"a name cut short": {question("a.test", TypeA)[:16], RcodeFormatError, true},
	} {
		if _, rcode, ok := ParseQuery(c.message); rcode != c.rcode || ok != c.ok {
			t.Errorf("%s: rcode %d, ok %v", name, rcode, ok)
		}
	}
}

func TestOnlyTheQuestionIsForwarded(t *testing.T) {
	query := mustParse(t, append(question("a.test", TypeA), "hidden"...))
	if bytes.Contains(query.Upstream(7), []byte("hidden")) {
		t.Fatal("the guest's trailing bytes were forwarded")
	}
	if !query.IsAnswered(response(query.Upstream(7)), 7) {
		t.Fatal("a matching response was not recognised")
	}
	if query.IsAnswered(response(query.Upstream(8)), 7) || query.IsAnswered(query.Upstream(7), 7) {
		t.Fatal("another message was accepted as the response")
	}
}

func TestAddressesFollowOnlyTheAliasesOfTheName(t *testing.T) {
	message := question("a.test", TypeA)
	query := mustParse(t, message)
	answer := response(message,
		record4([]byte{0xC0, 12}, typeCNAME, 300, wireName("b.test")),
		record4(wireName("other.test"), TypeA, 60, []byte{203, 0, 113, 9}),
		record4(wireName("B.test"), TypeA, 60, []byte{203, 0, 113, 5}),
	)
	found, err := query.Addresses(answer)
	if err != nil || len(found) != 1 || found[0] != (Address{netip.MustParseAddr("203.0.113.5"), time.Minute}) {
		t.Fatal(found, err)
	}
}

func TestAnAliasLoopEnds(t *testing.T) {
	message := question("a.test", TypeA)
	answer := response(message,
		record4(wireName("a.test"), typeCNAME, 1, wireName("b.test")),
		record4(wireName("b.test"), typeCNAME, 1, wireName("a.test")))
	if found, err := mustParse(t, message).Addresses(answer); err != nil || len(found) != 0 {
		t.Fatal(found, err)
	}
}

func TestALongResponseOverUDPIsTruncated(t *testing.T) {
	message := question("a.test", TypeA)
	long := append(response(message), make([]byte, 600)...)
	query := mustParse(t, message)
	if reply := query.Relay(long, true); len(reply) > 512 || reply[2]&2 == 0 {
		t.Fatal("not truncated")
	}
	if reply := query.Relay(long, false); len(reply) != len(long) || reply[0] != 0x12 {
		t.Fatal("truncated over TCP")
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add(question("a.test", TypeA))
	f.Fuzz(func(_ *testing.T, message []byte) {
		query, _, ok := ParseQuery(message)
		if ok {
			query.Reply(RcodeRefused)
			query.Upstream(1)
			query.IsAnswered(message, 1)
		}
	})
}

func FuzzAddresses(f *testing.F) {
	message := question("a.test", TypeA)
	f.Add(response(message, record4([]byte{0xC0, 12}, typeCNAME, 300, []byte{0xC0, 12})))
	query, _, _ := ParseQuery(message)
	f.Fuzz(func(_ *testing.T, answer []byte) {
		if len(answer) >= headerBytes {
			_, _ = query.Addresses(answer)
			query.Relay(answer, true)
		}
	})
}
