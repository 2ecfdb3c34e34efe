// Package nameservers finds the host's own resolvers and opens connections to them, for the resolver, which cannot open any.
package nameservers

import (
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"mayfly/net/internal/upstream"
)

const dnsPort = 53

// local is the resolver that is used without a configuration, as in libc.
var local = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53")}

// Servers reads a resolv.conf and reloads it when it changes.
type Servers struct {
	path    string
	mu      sync.Mutex
	modTime time.Time
	current []netip.AddrPort
}

// New uses the file at a path.
func New(path string) *Servers { return &Servers{path: path} }

// Addresses returns the servers to ask, in order. Without a configuration it returns the local resolver.
func (s *Servers) Addresses() []netip.AddrPort {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(s.path)
	if err != nil {
		return local
	}
	if s.current != nil && info.ModTime().Equal(s.modTime) {
		return s.current
	}
	text, err := os.ReadFile(s.path)
	if err != nil {
		return local
	}
	s.current, s.modTime = parse(string(text)), info.ModTime()
	return s.current
}

// parse returns the first name servers that are IP addresses; libc ignores others as well.
func parse(text string) []netip.AddrPort {
	var servers []netip.AddrPort
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" || len(servers) == upstream.MaxServers {
			continue
		}
		if ip, err := netip.ParseAddr(fields[1]); err == nil {
			servers = append(servers, netip.AddrPortFrom(ip.Unmap(), dnsPort))
		}
	}
	if servers == nil {
		return local
	}
	return servers
}
