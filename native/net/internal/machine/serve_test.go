package machine

import (
	"bytes"
	"net"
	"testing"
	"time"

	"mayfly/net/internal/dnsmsg"
	"mayfly/net/internal/names"
)

// stream is a guest's connection with all its bytes ready to read.
type stream struct {
	net.Conn
	sent *bytes.Reader
}

func (s stream) Read(p []byte) (int, error)  { return s.sent.Read(p) }
func (s stream) SetDeadline(time.Time) error { return nil }

// FuzzConnection reads a guest's TCP stream and answers its queries, under policies that never ask a server.
func FuzzConnection(f *testing.F) {
	ask := []byte{0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1}
	f.Add(append([]byte{0, byte(len(ask))}, ask...))
	f.Add([]byte{0xff, 0xff, 0, 0})
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, sent []byte) {
		none, _ := names.New(names.None, nil)
		list, _ := names.New(names.List, []string{"never.test"})
		conn := stream{sent: bytes.NewReader(sent)}
		for {
			message, err := readFrame(conn)
			if err != nil {
				return
			}
			if len(message) > dnsmsg.MaxQueryBytes {
				t.Fatalf("a message of %d bytes", len(message))
			}
			for _, policy := range []*names.Policy{none, list} {
				machine := &Machine{policy: policy, resolved: newResolvedAddresses(maxResolvedAddresses)}
				query, _, ok := dnsmsg.ParseQuery(message)
				if ok && policy.Allows(query.Name) {
					continue
				}
				for _, overUDP := range []bool{false, true} {
					reply := machine.answer(message, overUDP)
					if (reply != nil) != ok || len(reply) > dnsmsg.MaxQueryBytes {
						t.Fatalf("reply %x to %x", reply, message)
					}
				}
			}
		}
	})
}
