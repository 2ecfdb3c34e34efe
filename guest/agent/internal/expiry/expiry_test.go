package expiry

import (
	"testing"
	"time"
)

func TestDue(t *testing.T) {
	at := time.UnixMilli(1_790_000_000_000)
	for _, c := range []struct {
		expiry    int64
		now       time.Time
		connected bool
		want      bool
	}{
		{0, at.Add(time.Hour), false, false},
		{at.UnixMilli(), at.Add(4 * time.Minute), false, false},
		{at.UnixMilli(), at.Add(6 * time.Minute), false, true},
		{at.UnixMilli(), at.Add(6 * time.Minute), true, false},
	} {
		var w Watch
		w.Set(c.expiry)
		if got := w.Due(c.now, c.connected); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
