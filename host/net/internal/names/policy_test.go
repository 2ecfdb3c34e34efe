package names

import "testing"

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
		t.Error("all and none")
	}
	if _, err := New("some", nil); err == nil {
		t.Error("an unknown mode was taken")
	}
}
