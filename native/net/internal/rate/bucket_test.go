package rate

import "testing"

func TestABurstIsLimited(t *testing.T) {
	bucket := NewBucket(0, 2)
	if !bucket.Take() || !bucket.Take() || bucket.Take() {
		t.Fatal("a burst of two did not let exactly two queries through")
	}
}
