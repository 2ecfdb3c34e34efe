package nameservers

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mayfly/net/internal/upstream"
)

func TestParseResolvConf(t *testing.T) {
	text := "# nameserver 9.9.9.9\nsearch a\nnameserver 127.0.0.53\nnameserver dns.test\nnameserver fe80::1%eth0\n nameserver 1.1.1.1\nnameserver 8.8.8.8\n"
	if got := fmt.Sprint(parse(text)); got != "[127.0.0.53:53 [fe80::1%eth0]:53 1.1.1.1:53]" {
		t.Fatal(got)
	}
	if got := fmt.Sprint(parse("options edns0\n")); got != "[127.0.0.1:53]" {
		t.Fatal(got)
	}
}

func TestAChangedFileIsReloaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	servers := New(path)
	if got := fmt.Sprint(servers.Addresses()); got != "[127.0.0.1:53]" {
		t.Fatal(got)
	}
	for number, address := range []string{"127.0.0.2", "127.0.0.3"} {
		if err := os.WriteFile(path, []byte("nameserver "+address+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		changedAt := time.Unix(int64(1000+number), 0)
		if err := os.Chtimes(path, changedAt, changedAt); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(servers.Addresses()); got != "["+address+":53]" {
			t.Fatal(got)
		}
	}
	if _, err := servers.Address(1); err == nil {
		t.Fatal("a server that the host does not have has an address")
	}
}

func TestConnectDoesNotWait(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for network, address := range map[string]net.Addr{"tcp": listener.Addr(), "udp": listener.Addr()} {
		file, err := Connect(address.(*net.TCPAddr).AddrPort(), network)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.FileConn(file)
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got := conn.RemoteAddr(); got == nil || got.Network() != network {
			t.Fatalf("%s: connected to %v", network, got)
		}
		conn.Close()
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# x\nsearch a\nnameserver 127.0.0.53\nnameserver fe80::1%eth0\r\n\tnameserver 1.1.1.1\n")
	f.Fuzz(func(t *testing.T, text string) {
		servers := parse(text)
		if len(servers) < 1 || len(servers) > upstream.MaxServers {
			t.Fatal(servers)
		}
		for _, server := range servers {
			if !server.IsValid() || server.Port() != dnsPort {
				t.Fatal(server)
			}
		}
	})
}
