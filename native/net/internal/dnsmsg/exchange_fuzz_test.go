package dnsmsg

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// FuzzExchange runs a guest's message and a server's response through the whole package.
func FuzzExchange(f *testing.F) {
	message := question("a.test", TypeA)
	f.Add(message, response(message, record4([]byte{0xC0, 12}, TypeA, 60, []byte{203, 0, 113, 5})), false)
	f.Add(message, response(message, record4([]byte{0xC0, 12}, typeCNAME, 60, []byte{0xC0, 12})), true)
	edns := append(question("b.test", TypeAAAA), 0, 0, typeOPT, 0x10, 0, 0, 0, 0x80, 0, 0, 0)
	edns[11] = 1
	f.Add(edns, response(edns), true)
	f.Fuzz(func(t *testing.T, message, answer []byte, overUDP bool) {
		query, rcode, ok := ParseQuery(message)
		if !ok {
			return
		}
		reply := query.Reply(RcodeRefused)
		if !bytes.Equal(reply[:2], message[:2]) || reply[2]&0x80 == 0 || len(reply) > MaxQueryBytes {
			t.Fatalf("reply %x to %x", reply, message)
		}
		if rcode != RcodeSuccess {
			return
		}
		if strings.ToLower(query.Name) != query.Name || len(query.Name) > 4*maxNameBytes {
			t.Fatalf("name %q", query.Name)
		}
		sent := query.Upstream(7)
		if again, code, ok := ParseQuery(sent); !ok || code != RcodeSuccess || again.Name != query.Name || again.Type != query.Type {
			t.Fatalf("forwarded as %x: %v %d %q", sent, ok, code, again.Name)
		}
		if !query.IsAnswered(answer, binary.BigEndian.Uint16(append(bytes.Clone(answer), 0, 0))) {
			return
		}
		addresses, err := query.Addresses(answer)
		if err != nil {
			return
		}
		if len(addresses) > maxAnswers {
			t.Fatalf("%d addresses", len(addresses))
		}
		for _, address := range addresses {
			if !address.IP.Is4() || address.TTL < 0 {
				t.Fatalf("address %v", address)
			}
		}
		relayed := query.Relay(answer, overUDP)
		if !bytes.Equal(relayed[:2], message[:2]) || overUDP && len(relayed) > max(maxUDPBytes, len(query.Truncated())) {
			t.Fatalf("relayed %d bytes of %d", len(relayed), len(answer))
		}
	})
}
