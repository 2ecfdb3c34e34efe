package files

import (
	"path"
	"strings"
	"testing"
)

func FuzzResolve(f *testing.F) {
	f.Add("a/../../etc/passwd")
	f.Add("/workspace/./x//y")
	f.Add("\xff\x00")
	f.Fuzz(func(t *testing.T, p string) {
		got, err := Resolve(p)
		if err != nil {
			return
		}
		if !path.IsAbs(got) || path.Clean(got) != got || strings.IndexByte(got, 0) >= 0 {
			t.Fatalf("%q became %q", p, got)
		}
		if again, err := Resolve(got); err != nil || again != got {
			t.Fatalf("%q resolved again to %q", got, again)
		}
	})
}
