// Package wire defines what the broker, which is root, and the resolver, which has no privileges, tell each other over a socket that
// keeps the boundaries of messages. The resolver parses packets of guests, so the broker trusts none of its messages: they are short,
// have a fixed form and hold only numbers.
package wire

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"
)

// Kind says what the resolver wants.
type Kind byte

const (
	// Ready says that the resolver has dropped everything it does not need and can take sockets.
	Ready Kind = iota + 1
	// Done says that an order was carried out. After a policy order, the entries are the addresses that the new policy keeps open.
	Done
	// Failed says that an order could not be carried out.
	Failed
	// Open asks to allow a machine connections to the entries. Number is the machine's slot.
	Open
	// DialUDP and DialTCP ask for a socket that is connected to one of the host's name servers. Number counts them from 0.
	DialUDP
	DialTCP
)

// Entry is a resolved address and how long connections to it are allowed.
type Entry struct {
	IP netip.Addr
	// For is a whole number of seconds on the wire.
	For time.Duration
}

// FromResolver is a message of the resolver.
type FromResolver struct {
	Kind Kind
	// ID is the order's (Done, Failed) or a new one of the resolver, which the broker's result repeats.
	ID      uint32
	Number  uint16
	Entries []Entry
}

const (
	// MaxEntries is the largest number of addresses in one message.
	MaxEntries  = 1024
	headerBytes = 9
	entryBytes  = 8
	// MaxFromResolverBytes is the length of the longest message of the resolver.
	MaxFromResolverBytes = headerBytes + MaxEntries*entryBytes
)

var errMalformed = errors.New("malformed message of the resolver")

// Append appends the encoded message: kind (1 byte), id (4), number (2), count (2), and for each entry an IPv4 address (4) and seconds (4).
func (m FromResolver) Append(to []byte) []byte {
	to = append(to, byte(m.Kind))
	to = binary.BigEndian.AppendUint32(to, m.ID)
	to = binary.BigEndian.AppendUint16(to, m.Number)
	to = binary.BigEndian.AppendUint16(to, uint16(len(m.Entries)))
	for _, entry := range m.Entries {
		ip := entry.IP.As4()
		to = append(to, ip[:]...)
		to = binary.BigEndian.AppendUint32(to, uint32(entry.For/time.Second))
	}
	return to
}

// ParseFromResolver reads a message. It accepts exactly what Append writes for a known kind.
func ParseFromResolver(text []byte) (FromResolver, error) {
	if len(text) < headerBytes {
		return FromResolver{}, errMalformed
	}
	message := FromResolver{
		Kind:   Kind(text[0]),
		ID:     binary.BigEndian.Uint32(text[1:]),
		Number: binary.BigEndian.Uint16(text[5:]),
	}
	count := int(binary.BigEndian.Uint16(text[7:]))
	if message.Kind < Ready || message.Kind > DialTCP || count > MaxEntries || len(text) != headerBytes+count*entryBytes {
		return FromResolver{}, errMalformed
	}
	if count > 0 && message.Kind != Done && message.Kind != Open {
		return FromResolver{}, errMalformed
	}
	for offset := headerBytes; offset < len(text); offset += entryBytes {
		message.Entries = append(message.Entries, Entry{
			IP:  netip.AddrFrom4([4]byte(text[offset:])),
			For: time.Duration(binary.BigEndian.Uint32(text[offset+4:])) * time.Second,
		})
	}
	return message, nil
}
