package upstream

import (
	"net"
	"testing"
)

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
