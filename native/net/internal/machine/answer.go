package machine

import (
	"context"
	"errors"
	"time"

	"mayfly/net/internal/dnsmsg"
	"mayfly/net/internal/names"
	"mayfly/net/internal/upstream"
	"mayfly/net/internal/wire"
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
	if dnsmsg.IsPrivateReverse(query.Name, m.shared.Refused) {
		return query.Reply(dnsmsg.RcodeNameError)
	}
	if query.Type == dnsmsg.TypeAAAA {
		return query.Reply(dnsmsg.RcodeSuccess)
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	response, err := upstream.Exchange(ctx, m.shared.Servers, query, overUDP)
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

// SetPolicy replaces the policy. Apply puts the namespace's rules into force, in one transaction with the addresses that the new policy
// keeps open. When it fails, the old policy stays.
func (m *Machine) SetPolicy(policy *names.Policy, apply func(kept []wire.Entry) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var kept []wire.Entry
	if policy.Mode() == names.List {
		kept = m.resolved.allowedBy(policy, time.Now())
	}
	if err := apply(kept); err != nil {
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
	var entries []wire.Entry
	for _, address := range addresses {
		openFor := min(max(address.TTL+openAfterTTL, minOpenFor), MaxOpenFor)
		if m.resolved.isOpen(name, address.IP, now.Add(min(address.TTL, openFor))) {
			continue
		}
		entries = append(entries, wire.Entry{IP: address.IP, For: openFor})
	}
	if m.policy.Mode() == names.List && len(entries) > 0 {
		if err := m.allow(entries); err != nil {
			return err
		}
	}
	for _, entry := range entries {
		m.resolved.add(name, entry.IP, now.Add(entry.For))
	}
	return nil
}
