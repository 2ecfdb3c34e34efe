package dnsmsg

import (
	"bytes"
	"encoding/binary"
)

// Reply is an answer of our own: a code and no records.
func (q Query) Reply(rcode int) []byte {
	message := make([]byte, headerBytes, headerBytes+len(q.question))
	binary.BigEndian.PutUint16(message, q.id)
	flags := flagResponse | flagRecursionPossible | q.flags&(flagRecursionDesired|maskOpcode) | uint16(rcode)
	binary.BigEndian.PutUint16(message[2:], flags)
	if len(q.question) > 0 {
		binary.BigEndian.PutUint16(message[4:], 1)
	}
	return append(message, q.question...)
}

// IsTruncated says whether a response leaves records out, so that the question must be asked again over TCP.
func IsTruncated(response []byte) bool {
	return len(response) >= headerBytes && response[2]&(flagTruncated>>8) != 0
}

// Truncated is an answer without records that sends the client to TCP.
func (q Query) Truncated() []byte {
	message := q.Reply(RcodeSuccess)
	message[2] |= flagTruncated >> 8
	return message
}

// Relay is an upstream response under the guest's id. One that is too long for the guest's UDP says "truncated" instead.
func (q Query) Relay(response []byte, overUDP bool) []byte {
	if overUDP && len(response) > q.udpBytes {
		return q.Truncated()
	}
	message := bytes.Clone(response)
	binary.BigEndian.PutUint16(message, q.id)
	return message
}
