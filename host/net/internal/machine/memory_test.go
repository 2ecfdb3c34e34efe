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
	memory := newMemory(10)
	memory.add("a.test", ip1, now.Add(time.Hour))
	memory.add("b.test", ip2, now.Add(time.Hour))
	policy, _ := names.New(names.List, []string{"a.test"})
	kept := memory.allowedBy(policy, now)
	if len(kept) != 1 || kept[0].IP != ip1 || kept[0].For != time.Hour {
		t.Fatal(kept)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	memory := newMemory(1)
	memory.add("a.test", ip1, time.Now())
	memory.add("b.test", ip2, time.Now())
	if len(memory.byKey) != 1 || memory.order.Len() != 1 || memory.isOpen("a.test", ip1, time.Time{}) {
		t.Fatal("the older name was kept")
	}
}

func TestTheRateIsBounded(t *testing.T) {
	bucket := newBucket(0, 2)
	if !bucket.take() || !bucket.take() || bucket.take() {
		t.Fatal("a burst of two let through another number")
	}
}
