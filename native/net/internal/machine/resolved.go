package machine

import (
	"container/list"
	"net/netip"
	"time"

	"mayfly/net/internal/names"
	"mayfly/net/internal/wire"
)

// resolvedAddresses records the addresses that names resolved to, so that a new policy can keep those of the names it
// still allows open.
type resolvedAddresses struct {
	limit int
	order *list.List
	byKey map[key]*list.Element
}

type key struct {
	ip   netip.Addr
	name string
}

type resolvedAddress struct {
	key
	until time.Time
}

func newResolvedAddresses(limit int) *resolvedAddresses {
	return &resolvedAddresses{limit: limit, order: list.New(), byKey: map[key]*list.Element{}}
}

// add records an address of a name. Over the limit, it drops the least recently resolved one.
func (r *resolvedAddresses) add(name string, ip netip.Addr, until time.Time) {
	at := key{ip, name}
	if element, ok := r.byKey[at]; ok {
		element.Value = resolvedAddress{at, until}
		r.order.MoveToBack(element)
		return
	}
	r.byKey[at] = r.order.PushBack(resolvedAddress{at, until})
	if r.order.Len() > r.limit {
		oldest := r.order.Front()
		delete(r.byKey, r.order.Remove(oldest).(resolvedAddress).key)
	}
}

// isOpen reports whether an address of a name stays open at least until a time.
func (r *resolvedAddresses) isOpen(name string, ip netip.Addr, until time.Time) bool {
	element, ok := r.byKey[key{ip, name}]
	return ok && !element.Value.(resolvedAddress).until.Before(until)
}

// allowedBy returns the addresses of the names that a policy allows, each with the time it has left.
func (r *resolvedAddresses) allowedBy(policy *names.Policy, now time.Time) []wire.Entry {
	longest := map[netip.Addr]time.Duration{}
	for element := r.order.Front(); element != nil; element = element.Next() {
		entry := element.Value.(resolvedAddress)
		if policy.Allows(entry.name) {
			longest[entry.ip] = max(longest[entry.ip], entry.until.Sub(now), minOpenFor)
		}
	}
	entries := make([]wire.Entry, 0, len(longest))
	for ip, left := range longest {
		entries = append(entries, wire.Entry{IP: ip, For: left})
	}
	return entries
}
