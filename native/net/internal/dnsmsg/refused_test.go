package dnsmsg

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

func isPrivate(ip netip.Addr) bool { return ip.IsPrivate() }

var (
	itself   = []byte{0xC0, 12}
	private  = record4(itself, TypeA, 60, []byte{192, 168, 0, 1})
	public   = record4(itself, TypeA, 60, []byte{203, 0, 113, 5})
	mapped   = record4(itself, TypeAAAA, 60, netip.MustParseAddr("::ffff:10.0.0.1").AsSlice())
	hinted   = record4(itself, typeHTTPS, 60, []byte{0, 1, 0, 0, 1, 0, 3, 2, 'h', '2', 0, 4, 0, 8, 203, 0, 113, 5, 10, 0, 0, 1})
	harmless = record4(itself, typeHTTPS, 60, []byte{0, 1, 0, 0, 4, 0, 4, 203, 0, 113, 5})
)

// guarded is what a guest gets, as the addresses in it and the number of records in each section.
func guarded(t *testing.T, kind uint16, sections [3][][]byte) ([]Address, [3]uint16) {
	t.Helper()
	message := question("a.test", kind)
	query := mustParse(t, message)
	answer := response(message, append(append(sections[0], sections[1]...), sections[2]...)...)
	for at, records := range sections {
		binary.BigEndian.PutUint16(answer[6+2*at:], uint16(len(records)))
	}
	result, err := query.WithoutRefused(answer, isPrivate)
	if err != nil {
		t.Fatal(err)
	}
	if section, _, err := query.findRefused(result, isPrivate); err != nil || section != noSection {
		t.Fatalf("%x still has a refused address (%v)", result, err)
	}
	addresses, err := query.Addresses(result)
	if err != nil {
		t.Fatal(err)
	}
	var counts [3]uint16
	for at := range counts {
		counts[at] = binary.BigEndian.Uint16(result[6+2*at:])
	}
	return addresses, counts
}

func TestRefusedAddressesAreLeftOut(t *testing.T) {
	alias := record4(itself, typeCNAME, 60, wireName("b.test"))
	aliased := record4(wireName("b.test"), TypeA, 60, []byte{10, 0, 0, 1})
	aliasedPublic := record4(wireName("b.test"), TypeA, 30, []byte{203, 0, 113, 7})
	for name, test := range map[string]struct {
		kind     uint16
		sections [3][][]byte
		found    int
		counts   [3]uint16
	}{
		"none is refused":           {TypeA, [3][][]byte{{public}, nil, {public}}, 1, [3]uint16{1, 0, 1}},
		"some are refused":          {TypeA, [3][][]byte{{private, public}}, 1, [3]uint16{1, 0, 0}},
		"all are refused":           {TypeA, [3][][]byte{{private}}, 0, [3]uint16{}},
		"behind an alias":           {TypeA, [3][][]byte{{alias, aliased, aliasedPublic}}, 1, [3]uint16{1, 0, 0}},
		"beside the answer":         {TypeA, [3][][]byte{{public}, nil, {private}}, 1, [3]uint16{1, 0, 0}},
		"in the authority section":  {TypeA, [3][][]byte{{public}, {private}, {public}}, 1, [3]uint16{1, 0, 0}},
		"for another type":          {255, [3][][]byte{{public, private}}, 0, [3]uint16{}},
		"written as IPv6":           {255, [3][][]byte{{mapped}}, 0, [3]uint16{}},
		"as a hint":                 {typeHTTPS, [3][][]byte{{hinted}}, 0, [3]uint16{}},
		"a hint that is no problem": {typeHTTPS, [3][][]byte{{harmless}}, 0, [3]uint16{1, 0, 0}},
	} {
		addresses, counts := guarded(t, test.kind, test.sections)
		if len(addresses) != test.found || counts != test.counts {
			t.Errorf("%s: %v, %v", name, addresses, counts)
		}
	}
}

// FuzzWithoutRefused checks that no response brings a refused address past the filter.
func FuzzWithoutRefused(f *testing.F) {
	message := question("a.test", TypeA)
	f.Add(message, response(message, private, public))
	f.Add(message, response(message, hinted, mapped))
	f.Fuzz(func(t *testing.T, message, answer []byte) {
		query, rcode, ok := ParseQuery(message)
		if !ok || rcode != RcodeSuccess {
			return
		}
		result, err := query.WithoutRefused(answer, isPrivate)
		if err != nil {
			return
		}
		if section, _, err := query.findRefused(result, isPrivate); err != nil || section != noSection {
			t.Fatalf("%x became %x (%v)", answer, result, err)
		}
	})
}
