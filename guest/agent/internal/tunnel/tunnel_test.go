package tunnel

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func newServer(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	Register(mux)
	s := httptest.NewUnstartedServer(mux)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// listen serves connections on loopback with handle and returns the port.
func listen(t *testing.T, network, address string, handle func(*net.TCPConn)) int {
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go handle(c.(*net.TCPConn))
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func echo(c *net.TCPConn) { io.Copy(c, c); c.Close() }

func TestBothFamiliesAndHalfClose(t *testing.T) {
	s := newServer(t)
	data := make([]byte, 3<<20)
	rand.Read(data)
	for network, address := range map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"} {
		port := listen(t, network, address, echo)
		r, err := s.Client().Post(fmt.Sprintf("%s/tunnels?port=%d", s.URL, port), "", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%s: %d bytes, %v", network, len(got), err)
		}
	}
}

func TestBothDirections(t *testing.T) {
	s := newServer(t)
	port := listen(t, "tcp4", "127.0.0.1:0", echo)
	body, keys := io.Pipe()
	r, err := s.Client().Post(fmt.Sprintf("%s/tunnels?port=%d", s.URL, port), "", body)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		buf := make([]byte, 4)
		keys.Write([]byte("ping"))
		if _, err := io.ReadFull(r.Body, buf); err != nil || string(buf) != "ping" {
			t.Fatal(string(buf), err)
		}
	}
	keys.Close()
}

func TestServerClosesFirst(t *testing.T) {
	s := newServer(t)
	port := listen(t, "tcp4", "127.0.0.1:0", func(c *net.TCPConn) { c.Write([]byte("bye")); c.Close() })
	body, _ := io.Pipe()
	r, err := s.Client().Post(fmt.Sprintf("%s/tunnels?port=%d", s.URL, port), "", body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r.Body); err != nil || string(got) != "bye" {
		t.Fatal(string(got), err)
	}
	body, keys := io.Pipe()
	reset := listen(t, "tcp4", "127.0.0.1:0", func(c *net.TCPConn) {
		c.Read(make([]byte, 1))
		c.SetLinger(0)
		c.Close()
	})
	r, err = s.Client().Post(fmt.Sprintf("%s/tunnels?port=%d", s.URL, reset), "", body)
	if err != nil {
		t.Fatal(err)
	}
	keys.Write([]byte("x"))
	if _, err := io.ReadAll(r.Body); err == nil {
		t.Fatal("a reset looks like an end")
	}
}

func TestConnectionRefused(t *testing.T) {
	s := newServer(t)
	for query, want := range map[string]int{"port=1": 502, "port=0": 400, "port=70000": 400, "": 400} {
		r, err := s.Client().Post(s.URL+"/tunnels?"+query, "", nil)
		if err != nil || r.StatusCode != want {
			t.Error(query, r.StatusCode, err)
		}
	}
}
