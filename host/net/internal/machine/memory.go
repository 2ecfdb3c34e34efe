package machine

import (
	"container/list"
	"net/netip"
	"time"

	"mayfly/net/internal/firewall"
	"mayfly/net/internal/names"
)

// memory keeps the addresses that names led to, so that a new policy keeps open what it still allows.
type memory struct {
	limit int
	order *list.List
	byKey map[key]*list.Element
}

type key struct {
	ip   netip.Addr
	name string
}

type remembered struct {
	key
	until time.Time
}

func newMemory(limit int) *memory {
	return &memory{limit: limit, order: list.New(), byKey: map[key]*list.Element{}}
}

// add notes an address of a name; the one that was looked up longest ago gives way.
func (m *memory) add(name string, ip netip.Addr, until time.Time) {
	at := key{ip, name}
	if element, ok := m.byKey[at]; ok {
		element.Value = remembered{at, until}
		m.order.MoveToBack(element)
		return
	}
	m.byKey[at] = m.order.PushBack(remembered{at, until})
	if m.order.Len() > m.limit {
		oldest := m.order.Front()
		delete(m.byKey, m.order.Remove(oldest).(remembered).key)
	}
}

// isOpen says whether an address of a name stays open until a time.
func (m *memory) isOpen(name string, ip netip.Addr, until time.Time) bool {
	element, ok := m.byKey[key{ip, name}]
	return ok && !element.Value.(remembered).until.Before(until)
}

// allowedBy are the addresses of the names that a policy allows.
func (m *memory) allowedBy(policy *names.Policy, now time.Time) []firewall.Entry {
	longest := map[netip.Addr]time.Duration{}
	for element := m.order.Front(); element != nil; element = element.Next() {
		entry := element.Value.(remembered)
		if policy.Allows(entry.name) {
			longest[entry.ip] = max(longest[entry.ip], entry.until.Sub(now), shortestOpenFor)
		}
	}
	entries := make([]firewall.Entry, 0, len(longest))
	for ip, left := range longest {
		entries = append(entries, firewall.Entry{IP: ip, For: left})
	}
	return entries
}
