package names

import (
	"strings"
	"testing"
)

func FuzzAllows(f *testing.F) {
	f.Add("example.com", "*.example.org", "a.example.org")
	f.Add("*.", ".", "..")
	f.Fuzz(func(t *testing.T, one, other, name string) {
		policy, err := New(List, []string{one, other})
		if err != nil {
			t.Fatal(err)
		}
		want := false
		for _, pattern := range []string{one, other} {
			parent, below := strings.CutPrefix(pattern, "*.")
			want = want || !below && name == pattern || below && strings.HasSuffix(name, "."+parent)
		}
		if got := policy.Allows(name); got != want {
			t.Fatalf("%q under %q and %q: %v", name, one, other, got)
		}
	})
}
