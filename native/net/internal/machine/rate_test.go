package machine

import "testing"

func TestAllMachinesTogetherAreLimitedAndABusyOneLeavesSomeForOthers(t *testing.T) {
	total := NewTotalRate(100)
	asked := func(rate *queryRate, times int) (allowed int) {
		for range times {
			if rate.take() {
				allowed++
			}
		}
		return allowed
	}
	// Nothing refills during the test, however slow the host is.
	total.all.PerSecond = 0
	newMachine := func() *queryRate {
		rate := total.forMachine()
		rate.own.PerSecond, rate.fair.PerSecond = 0, 0
		return rate
	}
	busy, quiet := newMachine(), newMachine()
	if allowed := asked(busy, 390); allowed != 100 {
		t.Fatalf("the busy machine got %d of 390 queries through, not half of a burst of 200", allowed)
	}
	if allowed := asked(quiet, 5); allowed != 5 {
		t.Fatalf("the quiet machine got %d of 5 queries through", allowed)
	}
	sum := 0
	for range 20 {
		sum += asked(newMachine(), 390)
	}
	if sum != 95 {
		t.Fatalf("twenty more machines got %d queries through, not the 95 that were left", sum)
	}
}
