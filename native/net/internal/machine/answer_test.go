package machine

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"mayfly/net/internal/dnsmsg"
	"mayfly/net/internal/names"
)

// askedServers counts how often a name server is asked. None answers.
type askedServers struct{ count int }

func (s *askedServers) Dial(context.Context, int, string) (net.Conn, error) {
	s.count++
	return nil, errors.New("no server")
}

func TestNamesOfPrivateAddressesAreNotAskedUpstream(t *testing.T) {
	all, err := names.New(names.All, nil)
	if err != nil {
		t.Fatal(err)
	}
	servers := &askedServers{}
	shared := &Shared{Servers: servers, Refused: []netip.Prefix{netip.MustParsePrefix("192.168.0.0/16")}}
	machine := &Machine{policy: all, shared: shared}
	lookUp := func(name string) int {
		return int(machine.answer([]byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"+name+"\x07in-addr\x04arpa\x00\x00\x0c\x00\x01"), true)[3] & 15)
	}
	if rcode := lookUp("\x011\x010\x03168\x03192"); rcode != dnsmsg.RcodeNameError || servers.count != 0 {
		t.Errorf("a private address: response code %d, %d servers asked", rcode, servers.count)
	}
	if rcode := lookUp("\x018\x018\x018\x018"); rcode != dnsmsg.RcodeServerFailure || servers.count == 0 {
		t.Errorf("a public address: response code %d, %d servers asked", rcode, servers.count)
	}
}
