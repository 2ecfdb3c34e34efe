package upstream

import (
	"slices"
	"testing"
)

func TestServersOfAConfiguration(t *testing.T) {
	got := parse("# nameserver 9.9.9.9\nsearch a\nnameserver 127.0.0.53\nnameserver fe80::1%eth0\n nameserver 1.1.1.1\nnameserver 8.8.8.8\n")
	if !slices.Equal(got, []string{"127.0.0.53:53", "[fe80::1%eth0]:53", "1.1.1.1:53"}) {
		t.Fatal(got)
	}
	if got := parse("options edns0\n"); !slices.Equal(got, []string{"127.0.0.1:53"}) {
		t.Fatal(got)
	}
}
