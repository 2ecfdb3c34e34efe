package dnsmsg

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

// The sections of a response, in the order of their counts in the header.
const (
	answerSection = iota
	authoritySection
	additionalSection
	noSection
)

// keyIPv4Hint is the parameter of an SVCB or HTTPS record that holds IPv4 addresses.
const keyIPv4Hint = 4

// WithoutRefused returns a response without the addresses that isRefused reports. It returns the response itself if it has none of
// them. A guest could not connect to them, and must not learn the addresses of the host's private network.
func (q Query) WithoutRefused(response []byte, isRefused func(netip.Addr) bool) ([]byte, error) {
	section, start, err := q.findRefused(response, isRefused)
	switch {
	case err != nil:
		return nil, err
	case section == noSection:
		return response, nil
	case section == answerSection:
		return q.replyAddresses(response, isRefused)
	}
	// Names refer only to earlier parts of a message, so the end can be cut off.
	message := bytes.Clone(response[:start])
	for ; section < noSection; section++ {
		binary.BigEndian.PutUint16(message[6+2*section:], 0)
	}
	return message, nil
}

// findRefused returns the first section with a refused address, and where the section starts.
func (q Query) findRefused(response []byte, isRefused func(netip.Addr) bool) (section, start int, err error) {
	if len(response) < headerBytes+len(q.question) {
		return 0, 0, errName
	}
	offset := headerBytes + len(q.question)
	for section := range noSection {
		start := offset
		for range binary.BigEndian.Uint16(response[6+2*section:]) {
			_, end, err := readName(response, offset, true)
			if err != nil || end+10 > len(response) {
				return 0, 0, errName
			}
			data := end + 10
			offset = data + int(binary.BigEndian.Uint16(response[end+8:]))
			if offset > len(response) {
				return 0, 0, errName
			}
			for _, ip := range addressesIn(binary.BigEndian.Uint16(response[end:]), response[data:offset]) {
				if isRefused(ip) {
					return section, start, nil
				}
			}
		}
	}
	return noSection, offset, nil
}

// addressesIn returns the IPv4 addresses in the data of a record, also those written as IPv6 addresses.
func addressesIn(kind uint16, data []byte) []netip.Addr {
	switch {
	case kind == TypeA && len(data) == 4:
		return []netip.Addr{netip.AddrFrom4([4]byte(data))}
	case kind == TypeAAAA && len(data) == 16:
		return []netip.Addr{netip.AddrFrom16([16]byte(data)).Unmap()}
	case kind == typeSVCB || kind == typeHTTPS:
		return hintsIn(data)
	}
	return nil
}

// hintsIn returns the IPv4 hints of an SVCB or HTTPS record. The data is a priority, a name without compression, and parameters.
func hintsIn(data []byte) []netip.Addr {
	if len(data) < 2 {
		return nil
	}
	_, offset, err := readName(data, 2, false)
	if err != nil {
		return nil
	}
	var hints []netip.Addr
	for offset+4 <= len(data) {
		key := binary.BigEndian.Uint16(data[offset:])
		end := offset + 4 + int(binary.BigEndian.Uint16(data[offset+2:]))
		if end > len(data) {
			break
		}
		for at := offset + 4; key == keyIPv4Hint && at+4 <= end; at += 4 {
			hints = append(hints, netip.AddrFrom4([4]byte(data[at:])))
		}
		offset = end
	}
	return hints
}

// replyAddresses returns a response with the addresses that are not refused, as addresses of the name itself. A query for another
// type gets no records.
func (q Query) replyAddresses(response []byte, isRefused func(netip.Addr) bool) ([]byte, error) {
	message := q.Reply(RcodeSuccess)
	if q.Type != TypeA {
		return message, nil
	}
	addresses, err := q.Addresses(response)
	if err != nil {
		return nil, err
	}
	var count uint16
	for _, address := range addresses {
		if isRefused(address.IP) {
			continue
		}
		count++
		message = append(message, 0xC0, headerBytes, 0, TypeA, 0, 1)
		message = binary.BigEndian.AppendUint32(message, uint32(address.TTL.Seconds()))
		message = append(message, 0, 4)
		message = append(message, address.IP.AsSlice()...)
	}
	binary.BigEndian.PutUint16(message[6:], count)
	return message, nil
}
