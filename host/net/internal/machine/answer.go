package machine

import (
	"context"
	"errors"
	"time"

	"mayfly/net/internal/dnsmsg"
	"mayfly/net/internal/firewall"
	"mayfly/net/internal/names"
)

var errPolicyChanged = errors.New("the policy no longer allows this name")

// answer returns the reply to a guest's message, or nil if there is none.
func (m *Machine) answer(message []byte, overUDP bool) []byte {
	query, rcode, ok := dnsmsg.ParseQuery(message)
	if !ok {
		return nil
	}
	if rcode != dnsmsg.RcodeSuccess {
		return query.Reply(rcode)
	}
	policy := m.currentPolicy()
	if !policy.Allows(query.Name) {
		return query.Reply(refusal(policy))
	}
	if query.Type == dnsmsg.TypeAAAA {
		return query.Reply(dnsmsg.RcodeSuccess)
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	response, err := m.shared.Servers.Exchange(ctx, query, overUDP)
	if err != nil {
		return query.Reply(dnsmsg.RcodeServerFailure)
	}
	if overUDP && dnsmsg.IsTruncated(response) {
		return query.Truncated()
	}
	response, err = query.WithoutRefused(response, m.shared.isRefused)
	if err != nil {
		return query.Reply(dnsmsg.RcodeServerFailure)
	}
	addresses, err := query.Addresses(response)
	if err != nil {
		return query.Reply(dnsmsg.RcodeServerFailure)
	}
	if err := m.open(query.Name, addresses); err != nil {
		return query.Reply(dnsmsg.RcodeServerFailure)
	}
	return query.Relay(response, overUDP)
}

// refusal returns "no such name" under an allow-list, so that programs fail immediately with a clear error.
func refusal(policy *names.Policy) int {
	if policy.Mode() == names.List {
		return dnsmsg.RcodeNameError
	}
	return dnsmsg.RcodeRefused
}

// SetPolicy replaces the policy and the namespace's rules in one transaction. When it fails, both stay as they were.
func (m *Machine) SetPolicy(policy *names.Policy, transaction string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if policy.Mode() == names.List {
		transaction += firewall.Open(m.resolved.allowedBy(policy, time.Now()))
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

// open lets connections to the addresses of a name through, before the guest learns the addresses.
func (m *Machine) open(name string, addresses []dnsmsg.Address) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.policy.Allows(name) {
		return errPolicyChanged
	}
	now := time.Now()
	var entries []firewall.Entry
	for _, address := range addresses {
		openFor := min(max(address.TTL+openAfterTTL, minOpenFor), maxOpenFor)
		if m.resolved.isOpen(name, address.IP, now.Add(min(address.TTL, openFor))) {
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
		m.resolved.add(name, entry.IP, now.Add(entry.For))
	}
	return nil
}
