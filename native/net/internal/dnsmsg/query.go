// Package dnsmsg reads and writes the parts of DNS messages that a forwarder needs. Queries come from guests and are untrusted.
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
	typeSVCB  = 64
	typeHTTPS = 65
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
	// MaxQueryBytes is the longest query that is read.
	MaxQueryBytes = 1024
	// plainUDPBytes is the longest UDP response for a client without EDNS.
	plainUDPBytes = 512
	// maxUDPBytes is the longest UDP response, whatever size the client accepts.
	maxUDPBytes = 1232

	flagResponse           = 0x8000
	flagTruncated          = 0x0200
	flagRecursionDesired   = 0x0100
	flagRecursionAvailable = 0x0080
	flagCheckingDisabled   = 0x0010
	maskOpcode             = 0x7800
)

// Query is a guest's query with one question.
type Query struct {
	// Name is in lower case, without the trailing dot.
	Name string
	Type uint16

	id       uint16
	flags    uint16
	question []byte
	hasEDNS  bool
	udpBytes int
	dnssecOK bool
}

// ParseQuery reads a guest's message. If it cannot be forwarded, rcode is the response code to reply with. If ok is
// false, no reply is sent.
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

// readEDNS reads the client's UDP size and DNSSEC flag from the first additional record, where stub resolvers put them.
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

// Upstream returns the query to forward. It is rebuilt from its parts, so that no other bytes of the guest are forwarded.
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

// IsAnswered reports whether a response belongs to this query as it was forwarded with an id.
func (q Query) IsAnswered(response []byte, id uint16) bool {
	end := headerBytes + len(q.question)
	return len(response) >= end &&
		binary.BigEndian.Uint16(response) == id &&
		binary.BigEndian.Uint16(response[2:])&flagResponse != 0 &&
		binary.BigEndian.Uint16(response[4:]) == 1 &&
		bytes.EqualFold(response[headerBytes:end], q.question)
}

// Reply returns a response with a code and no records.
func (q Query) Reply(rcode int) []byte {
	message := make([]byte, headerBytes, headerBytes+len(q.question))
	binary.BigEndian.PutUint16(message, q.id)
	flags := flagResponse | flagRecursionAvailable | q.flags&(flagRecursionDesired|maskOpcode) | uint16(rcode)
	binary.BigEndian.PutUint16(message[2:], flags)
	if len(q.question) > 0 {
		binary.BigEndian.PutUint16(message[4:], 1)
	}
	return append(message, q.question...)
}

// IsTruncated reports whether a response is incomplete, so that the query must be repeated over TCP.
func IsTruncated(response []byte) bool {
	return len(response) >= headerBytes && response[2]&(flagTruncated>>8) != 0
}

// Truncated returns a response without records that makes the client retry over TCP.
func (q Query) Truncated() []byte {
	message := q.Reply(RcodeSuccess)
	message[2] |= flagTruncated >> 8
	return message
}

// Relay returns an upstream response with the guest's id. If it is too long for the guest's UDP size, it returns Truncated instead.
func (q Query) Relay(response []byte, overUDP bool) []byte {
	if overUDP && len(response) > q.udpBytes {
		return q.Truncated()
	}
	message := bytes.Clone(response)
	binary.BigEndian.PutUint16(message, q.id)
	return message
}
