package names

import (
	"strings"
	"testing"
)

func TestAllows(t *testing.T) {
	list, err := New(List, []string{"example.com", "*.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"example.com":      true,
		"www.example.com":  false,
		"notexample.com":   false,
		"example.org":      false,
		"a.example.org":    true,
		"a.b.example.org":  true,
		"badexample.org":   false,
		`a\046example.org`: false,
		"com":              false,
		"":                 false,
	} {
		if got := list.Allows(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	all, _ := New(All, nil)
	none, _ := New(None, nil)
	if !all.Allows("x") || none.Allows("x") {
		t.Error("the modes all and none are wrong")
	}
	if _, err := New("some", nil); err == nil {
		t.Error("an unknown mode was accepted")
	}
}

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
