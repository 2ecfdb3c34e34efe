package dnsmsg

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// Address is one A record.
type Address struct {
	IP  netip.Addr
	TTL time.Duration
}

// maxAnswers limits the records read from one response.
const maxAnswers = 512

// maxAliases limits the length of a CNAME chain.
const maxAliases = 16

type record struct {
	name  string
	alias string
	Address
}

// Addresses returns the A records at the end of the query's CNAME chain. It ignores records of other names.
func (q Query) Addresses(response []byte) ([]Address, error) {
	records, err := q.readAnswers(response)
	if err != nil {
		return nil, err
	}
	name := q.Name
	for range maxAliases {
		var found []Address
		alias := ""
		for _, answer := range records {
			switch {
			case answer.name != name:
			case answer.IP.IsValid():
				found = append(found, answer.Address)
			case answer.alias != "":
				alias = answer.alias
			}
		}
		if len(found) > 0 || alias == "" {
			return found, nil
		}
		name = alias
	}
	return nil, nil
}

// readAnswers reads the A and CNAME records of class IN in the answer section.
func (q Query) readAnswers(response []byte) ([]record, error) {
	if len(response) < headerBytes+len(q.question) {
		return nil, errName
	}
	count := min(int(binary.BigEndian.Uint16(response[6:])), maxAnswers)
	offset := headerBytes + len(q.question)
	records := make([]record, 0, min(count, 16))
	for range count {
		name, end, err := readName(response, offset, true)
		if err != nil || end+10 > len(response) {
			return nil, errName
		}
		kind := binary.BigEndian.Uint16(response[end:])
		class := binary.BigEndian.Uint16(response[end+2:])
		ttl := time.Duration(binary.BigEndian.Uint32(response[end+4:])&0x7FFFFFFF) * time.Second
		data := end + 10
		offset = data + int(binary.BigEndian.Uint16(response[end+8:]))
		if offset > len(response) {
			return nil, errName
		}
		switch {
		case class != 1:
		case kind == TypeA && offset-data == 4:
			ip := netip.AddrFrom4([4]byte(response[data:offset]))
			records = append(records, record{name: name, Address: Address{IP: ip, TTL: ttl}})
		case kind == typeCNAME:
			alias, _, err := readName(response, data, true)
			if err != nil {
				return nil, errName
			}
			records = append(records, record{name: name, alias: alias})
		}
	}
	return records, nil
}
