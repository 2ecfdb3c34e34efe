package dnsmsg

import (
	"net/netip"
	"strconv"
	"strings"
)

// IsPrivateReverse reports whether a name asks for the names of addresses of which some are refused: 1.0.168.192.in-addr.arpa for 192.168.0.1, and
// shorter names for whole ranges. A guest must not learn the names in the host's private network. Machines have no IPv6, so all its names count.
func IsPrivateReverse(name string, refused []netip.Prefix) bool {
	if name == "ip6.arpa" || strings.HasSuffix(name, ".ip6.arpa") {
		return true
	}
	labels, found := strings.CutSuffix(name, ".in-addr.arpa")
	if !found {
		return false
	}
	asked, ok := reversePrefix(strings.Split(labels, "."))
	if !ok {
		// No address has this name. Servers of the private network may still know it.
		return true
	}
	for _, prefix := range refused {
		if prefix.Overlaps(asked) {
			return true
		}
	}
	return false
}

// reversePrefix returns the range of the labels before in-addr.arpa, which start with the last octet.
func reversePrefix(labels []string) (netip.Prefix, bool) {
	if len(labels) > 4 {
		return netip.Prefix{}, false
	}
	var octets [4]byte
	for at, label := range labels {
		octet, err := strconv.ParseUint(label, 10, 8)
		if err != nil || label != strconv.FormatUint(octet, 10) {
			return netip.Prefix{}, false
		}
		octets[len(labels)-1-at] = byte(octet)
	}
	return netip.PrefixFrom(netip.AddrFrom4(octets), 8*len(labels)), true
}
