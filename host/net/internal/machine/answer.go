package machine

import (
	"context"

	"mayfly/net/internal/dnsmsg"
	"mayfly/net/internal/names"
)

// answer is what to send back for a guest's message; nil for nothing.
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
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	response, err := m.servers.Exchange(ctx, query, overUDP)
	if err != nil {
		return query.Reply(dnsmsg.RcodeServerFailure)
	}
	if overUDP && dnsmsg.IsTruncated(response) {
		return query.Truncated()
	}
	addresses, err := query.Addresses(response)
	if err != nil {
		return query.Reply(dnsmsg.RcodeServerFailure)
	}
	if err := m.admit(query.Name, addresses); err != nil {
		return query.Reply(dnsmsg.RcodeServerFailure)
	}
	return query.Relay(response, overUDP)
}

// refusal is a plain "no such name" under a list, so that programs fail at once and say so.
func refusal(policy *names.Policy) int {
	if policy.Mode() == names.List {
		return dnsmsg.RcodeNameError
	}
	return dnsmsg.RcodeRefused
}
