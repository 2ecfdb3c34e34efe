package machine

import (
	"errors"
	"time"

	"mayfly/net/internal/dnsmsg"
	"mayfly/net/internal/firewall"
	"mayfly/net/internal/names"
)

var errPolicyChanged = errors.New("the policy no longer allows this name")

// SetPolicy replaces the policy together with the namespace's rules, in one transaction. When it fails, all is as before.
func (m *Machine) SetPolicy(policy *names.Policy, transaction string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if policy.Mode() == names.List {
		transaction += firewall.Open(m.memory.allowedBy(policy, time.Now()))
	}
	if err := firewall.Apply(m.netnsPath, transaction); err != nil {
		return err
	}
	m.policy = policy
	return nil
}

func (m *Machine) currentPolicy() *names.Policy {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.policy
}

// admit opens the addresses of a name before the machine hears of them.
func (m *Machine) admit(name string, addresses []dnsmsg.Address) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.policy.Allows(name) {
		return errPolicyChanged
	}
	now := time.Now()
	var entries []firewall.Entry
	for _, address := range addresses {
		openFor := min(max(address.TTL+openLongerThanTTLBy, shortestOpenFor), longestOpenFor)
		if m.memory.isOpen(name, address.IP, now.Add(min(address.TTL, openFor))) {
			continue
		}
		entries = append(entries, firewall.Entry{IP: address.IP, For: openFor})
	}
	if m.policy.Mode() == names.List && len(entries) > 0 {
		if err := firewall.Apply(m.netnsPath, firewall.Open(entries)); err != nil {
			return err
		}
	}
	for _, entry := range entries {
		m.memory.add(name, entry.IP, now.Add(entry.For))
	}
	return nil
}
