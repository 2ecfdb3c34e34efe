package upstream

import (
	"net"
	"slices"
	"testing"
)

func TestParseResolvConf(t *testing.T) {
	got := parse("# nameserver 9.9.9.9\nsearch a\nnameserver 127.0.0.53\nnameserver fe80::1%eth0\n nameserver 1.1.1.1\nnameserver 8.8.8.8\n")
	if !slices.Equal(got, []string{"127.0.0.53:53", "[fe80::1%eth0]:53", "1.1.1.1:53"}) {
		t.Fatal(got)
	}
	if got := parse("options edns0\n"); !slices.Equal(got, []string{"127.0.0.1:53"}) {
		t.Fatal(got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# x\nsearch a\nnameserver 127.0.0.53\nnameserver fe80::1%eth0\r\n\tnameserver 1.1.1.1\n")
	f.Fuzz(func(t *testing.T, text string) {
		servers := parse(text)
		if len(servers) < 1 || len(servers) > maxServers {
			t.Fatal(servers)
		}
		for _, server := range servers {
			if _, port, err := net.SplitHostPort(server); err == nil && port != "53" {
				t.Fatal(server)
			}
		}
	})
}
