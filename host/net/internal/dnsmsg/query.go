// Package dnsmsg reads and writes the few parts of DNS messages that a forwarder needs. Guests write the queries: all is hostile.
package dnsmsg

import (
	"bytes"
	"encoding/binary"
)

// Record types and response codes used here.
const (
	TypeA    = 1
	TypeAAAA = 28

	typeCNAME = 5
	typeOPT   = 41
	typeIXFR  = 251
	typeAXFR  = 252

	RcodeSuccess        = 0
	RcodeFormatError    = 1
	RcodeServerFailure  = 2
	RcodeNameError      = 3
	RcodeNotImplemented = 4
	RcodeRefused        = 5
)

const (
	headerBytes = 12
	// MaxQueryBytes is the longest query that is looked at.
	MaxQueryBytes = 1024
	// plainUDPBytes is what a client without EDNS takes over UDP.
	plainUDPBytes = 512
	// maxUDPBytes is the most that is sent over UDP whatever the client says it takes.
	maxUDPBytes = 1232

	flagResponse          = 0x8000
	flagTruncated         = 0x0200
	flagRecursionDesired  = 0x0100
	flagRecursionPossible = 0x0080
	flagCheckingDisabled  = 0x0010
	maskOpcode            = 0x7800
)

// Query is one question of a guest.
type Query struct {
	// Name is in lower case, without the final dot.
	Name string
	Type uint16

	id       uint16
	flags    uint16
	question []byte
	hasEDNS  bool
	udpBytes int
	dnssecOK bool
}

// ParseQuery reads a guest's message. rcode is what to answer when it is not a question that can be forwarded;
// with ok false there is nothing to answer at all.
func ParseQuery(message []byte) (query Query, rcode int, ok bool) {
	if len(message) < headerBytes || len(message) > MaxQueryBytes {
		return Query{}, 0, false
	}
	flags := binary.BigEndian.Uint16(message[2:])
	if flags&flagResponse != 0 {
		return Query{}, 0, false
	}
	query = Query{id: binary.BigEndian.Uint16(message), flags: flags, udpBytes: plainUDPBytes}
	if flags&maskOpcode != 0 {
		return query, RcodeNotImplemented, true
	}
	if binary.BigEndian.Uint16(message[4:]) != 1 {
		return query, RcodeFormatError, true
	}
	name, end, err := readName(message, headerBytes, false)
	if err != nil || end+4 > len(message) {
		return query, RcodeFormatError, true
	}
	query.Name = name
	query.Type = binary.BigEndian.Uint16(message[end:])
	query.question = bytes.Clone(message[headerBytes : end+4])
	query.readEDNS(message, end+4)
	if query.Type == typeIXFR || query.Type == typeAXFR {
		return query, RcodeNotImplemented, true
	}
	return query, RcodeSuccess, true
}

// readEDNS takes the client's UDP size and DNSSEC wish from the first additional record, where stub resolvers put them.
func (q *Query) readEDNS(message []byte, offset int) {
	none := binary.BigEndian.Uint32(message[6:]) == 0
	if !none || binary.BigEndian.Uint16(message[10:]) == 0 || offset+11 > len(message) || message[offset] != 0 {
		return
	}
	if binary.BigEndian.Uint16(message[offset+1:]) != typeOPT {
		return
	}
	q.hasEDNS = true
	q.udpBytes = min(max(plainUDPBytes, int(binary.BigEndian.Uint16(message[offset+3:]))), maxUDPBytes)
	q.dnssecOK = message[offset+7]&0x80 != 0
}

// Upstream is the query as it is sent on: written anew, so that nothing else of the guest's bytes travels.
func (q Query) Upstream(id uint16) []byte {
	message := make([]byte, headerBytes, headerBytes+len(q.question)+11)
	binary.BigEndian.PutUint16(message, id)
	binary.BigEndian.PutUint16(message[2:], flagRecursionDesired|q.flags&flagCheckingDisabled)
	binary.BigEndian.PutUint16(message[4:], 1)
	message = append(message, q.question...)
	if !q.hasEDNS {
		return message
	}
	binary.BigEndian.PutUint16(message[10:], 1)
	var dnssec byte
	if q.dnssecOK {
		dnssec = 0x80
	}
	return append(message, 0, 0, typeOPT, maxUDPBytes>>8, maxUDPBytes&0xFF, 0, 0, dnssec, 0, 0, 0)
}

// IsAnswered says whether a response belongs to this query as it was sent upstream under an id.
func (q Query) IsAnswered(response []byte, id uint16) bool {
	end := headerBytes + len(q.question)
	return len(response) >= end &&
		binary.BigEndian.Uint16(response) == id &&
		binary.BigEndian.Uint16(response[2:])&flagResponse != 0 &&
		binary.BigEndian.Uint16(response[4:]) == 1 &&
		bytes.EqualFold(response[headerBytes:end], q.question)
}
