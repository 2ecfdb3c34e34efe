package dnsmsg

import (
	"net/netip"
	"testing"
)

func TestNamesOfRefusedAddressesArePrivate(t *testing.T) {
	refused := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.168.0.0/16")}
	for name, want := range map[string]bool{
		"1.0.168.192.in-addr.arpa":   true,
		"168.192.in-addr.arpa":       true,
		"192.in-addr.arpa":           true,
		"3.2.1.10.in-addr.arpa":      true,
		"8.8.8.8.in-addr.arpa":       false,
		"1.0.169.192.in-addr.arpa":   false,
		"01.0.168.192.in-addr.arpa":  true,
		"0/25.2.0.192.in-addr.arpa":  true,
		"1.1.1.1.1.in-addr.arpa":     true,
		"1.0.0.0.ip6.arpa":           true,
		"ip6.arpa":                   true,
		"in-addr.arpa":               false,
		"in-addr.arpa.example":       false,
		"1.0.168.192.in-addr.arpa.x": false,
		"example.com":                false,
	} {
		if got := IsPrivateReverse(name, refused); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
