// Package upstream asks the host's own resolvers, from the host's network namespace.
package upstream

import (
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// maxServers is the number of servers that are used from a configuration, as in libc.
const maxServers = 3

// Servers reads a resolv.conf and reloads it when it changes.
type Servers struct {
	path    string
	mu      sync.Mutex
	modTime time.Time
	current []string
}

// NewServers uses the file at a path.
func NewServers(path string) *Servers { return &Servers{path: path} }

// Addresses returns the servers to ask, in order, as host:port. Without a configuration it returns the local resolver, as libc does.
func (s *Servers) Addresses() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(s.path)
	if err != nil {
		return []string{"127.0.0.1:53"}
	}
	if s.current != nil && info.ModTime().Equal(s.modTime) {
		return s.current
	}
	text, err := os.ReadFile(s.path)
	if err != nil {
		return []string{"127.0.0.1:53"}
	}
	s.current, s.modTime = parse(string(text)), info.ModTime()
	return s.current
}

func parse(text string) []string {
	var servers []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" || len(servers) == maxServers {
			continue
		}
		servers = append(servers, net.JoinHostPort(fields[1], "53"))
	}
	if servers == nil {
		return []string{"127.0.0.1:53"}
	}
	return servers
}
