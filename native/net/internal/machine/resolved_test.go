package machine

import (
	"net/netip"
	"testing"
	"time"

	"mayfly/net/internal/names"
)

var (
	ip1 = netip.MustParseAddr("203.0.113.1")
	ip2 = netip.MustParseAddr("203.0.113.2")
)

func TestANewPolicyKeepsTheAddressesOfTheNamesItAllows(t *testing.T) {
	now := time.Now()
	resolved := newResolvedAddresses(10)
	resolved.add("a.test", ip1, now.Add(time.Hour))
	resolved.add("b.test", ip2, now.Add(time.Hour))
	policy, _ := names.New(names.List, []string{"a.test"})
	kept := resolved.allowedBy(policy, now)
	if len(kept) != 1 || kept[0].IP != ip1 || kept[0].For != time.Hour {
		t.Fatal(kept)
	}
}

func TestResolvedAddressesAreLimited(t *testing.T) {
	resolved := newResolvedAddresses(1)
	resolved.add("a.test", ip1, time.Now())
	resolved.add("b.test", ip2, time.Now())
	if len(resolved.byKey) != 1 || resolved.order.Len() != 1 || resolved.isOpen("a.test", ip1, time.Time{}) {
		t.Fatal("the older name was kept")
	}
}
