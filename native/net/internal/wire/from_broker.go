package wire

import (
	"encoding/json"
	"fmt"

	"mayfly/net/internal/names"
)

// Action is what the broker tells the resolver.
type Action string

const (
	// Serve orders to answer the lookups of a machine. It carries its UDP socket and its TCP listener.
	Serve Action = "serve"
	// Policy orders to prepare another policy. The resolver answers with the addresses to keep open and waits for Commit or Abort.
	Policy Action = "policy"
	Commit Action = "commit"
	Abort  Action = "abort"
	// Remove orders to close the sockets of a machine.
	Remove Action = "remove"
	// Result answers a request of the resolver. For a dial that succeeded it carries the socket.
	Result Action = "result"
)

// FromBroker is a message of the broker, which the resolver trusts.
type FromBroker struct {
	Action Action `json:"action"`
	// ID is a new one (Serve, Policy, Remove), the policy order's (Commit, Abort), or the resolver's request's (Result).
	ID    uint32     `json:"id"`
	Slot  int        `json:"slot,omitempty"`
	Mode  names.Mode `json:"mode,omitempty"`
	Names []string   `json:"names,omitempty"`
	// More says that the next message continues the names.
	More bool `json:"more,omitempty"`
	// Failed says that the request failed (Result).
	Failed bool `json:"failed,omitempty"`
}

const (
	// MaxFromBrokerBytes is the length of the longest message of the broker.
	MaxFromBrokerBytes = 128 << 10
	// maxNamesBytes is how many bytes of names one message holds. A list of names can be longer than a socket's buffer.
	maxNamesBytes = 64 << 10
)

// Encode returns the messages to send, which are several if there are many names.
func (m FromBroker) Encode() ([][]byte, error) {
	var encoded [][]byte
	for {
		part := m
		part.Names, m.Names = cutNames(m.Names)
		part.More = len(m.Names) > 0
		text, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		if len(text) > MaxFromBrokerBytes {
			return nil, fmt.Errorf("a message of %d bytes", len(text))
		}
		encoded = append(encoded, text)
		if !part.More {
			return encoded, nil
		}
	}
}

func cutNames(all []string) (first, rest []string) {
	bytes := 0
	for index, name := range all {
		if bytes += len(name); index > 0 && bytes > maxNamesBytes {
			return all[:index], all[index:]
		}
	}
	return all, nil
}
