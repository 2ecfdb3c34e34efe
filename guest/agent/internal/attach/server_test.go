package attach

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func socketPair(t *testing.T) (net.Conn, net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var conns [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		if conns[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return conns[0], conns[1]
}

type machine struct {
	server        *Server
	control, data *fakePort
}

// boot runs a server on two ports without a host.
func boot(t *testing.T, h http.Handler) *machine {
	m := &machine{control: newFakePort(), data: newFakePort()}
	m.server = &Server{Control: m.control, Data: m.data, Handler: h}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); m.server.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return m
}

func freshNonce() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// attach performs the host's side of an attach on two connected ports and returns a client.
func attach(t *testing.T, control, data net.Conn) *http.Client {
	t.Helper()
	nonce := freshNonce()
	deadline := time.Now().Add(5 * time.Second)
	fmt.Fprintf(control, "\nattach %s\n", nonce)
	fmt.Fprintf(data, "\nMAYFLY-SYNC %s\n", nonce)
	data.SetReadDeadline(deadline)
	var seen []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(seen, syncLine(nonce)) {
		if _, err := io.ReadFull(data, one); err != nil {
			t.Fatalf("no sync after %d bytes: %v", len(seen), err)
		}
		seen = append(seen, one[0])
	}
	data.SetReadDeadline(time.Time{})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		Protocols:   protocols,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return data, nil },
	}}
}

func get(t *testing.T, c *http.Client, path string) string {
	t.Helper()
	r, err := c.Get("http://guest" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func hello() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hi") })
	mux.HandleFunc("/flood", func(w http.ResponseWriter, r *http.Request) {
		for p := make([]byte, 64<<10); ; {
			if _, err := w.Write(p); err != nil {
				return
			}
		}
	})
	return mux
}

func TestAttachAndServe(t *testing.T) {
	m := boot(t, hello())
	control, data := m.control.plug(t), m.data.plug(t)
	c := attach(t, control, data)
	if got := get(t, c, "/hello"); got != "hi" {
		t.Fatalf("got %q", got)
	}
	if !m.server.Connected() {
		t.Fatal("a host is connected")
	}
}

func TestStaleBytesAreDropped(t *testing.T) {
	m := boot(t, hello())
	control, data := m.control.plug(t), m.data.plug(t)
	io.WriteString(control, "attach 12")
	io.WriteString(data, "\nMAYFLY-SYNC "+nonceB+"\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04half a fra")
	io.WriteString(control, strings.Repeat("z", 1000))
	if got := get(t, attach(t, control, data), "/hello"); got != "hi" {
		t.Fatalf("got %q", got)
	}
}

func TestDataPortConnectsLate(t *testing.T) {
	m := boot(t, hello())
	control := m.control.plug(t)
	nonce := freshNonce()
	for range 3 {
		fmt.Fprintf(control, "\nattach %s\n", nonce)
		time.Sleep(10 * time.Millisecond)
	}
	data := m.data.plug(t)
	fmt.Fprintf(data, "\nMAYFLY-SYNC %s\n", nonce)
	data.SetReadDeadline(time.Now().Add(5 * time.Second))
	buf := make([]byte, 1+len(syncLine(nonce)))
	if _, err := io.ReadFull(data, buf); err != nil || !bytes.Equal(buf[1:], syncLine(nonce)) {
		t.Fatalf("%q %v", buf, err)
	}
}

// The old session may read the new session's sync line before the control port announces it.
func TestOldSessionConsumesTheSyncLine(t *testing.T) {
	m := boot(t, hello())
	control, data := m.control.plug(t), m.data.plug(t)
	old := &stoppable{Conn: data}
	get(t, attach(t, control, old), "/hello")
	old.stop()
	nonce := freshNonce()
	fmt.Fprintf(data, "\nMAYFLY-SYNC %s\n", nonce)
	time.Sleep(100 * time.Millisecond) // enough time for the old session to read it
	fmt.Fprintf(control, "\nattach %s\n", nonce)
	data.SetReadDeadline(time.Now().Add(5 * time.Second))
	var seen []byte
	for one := make([]byte, 1); !bytes.HasSuffix(seen, syncLine(nonce)); seen = append(seen, one[0]) {
		if _, err := io.ReadFull(data, one); err != nil {
			t.Fatalf("no sync: %v", err)
		}
	}
}

func TestReattachAfterDisconnect(t *testing.T) {
	m := boot(t, hello())
	for range 5 {
		control, data := m.control.plug(t), m.data.plug(t)
		if got := get(t, attach(t, control, data), "/hello"); got != "hi" {
			t.Fatalf("got %q", got)
		}
		m.data.pull()
		m.control.pull()
	}
	for deadline := time.Now().Add(5 * time.Second); m.server.Connected(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still connected after the host has gone")
		}
	}
}

// A host that stops reading blocks the session in a write. A new attach on the same or on new connections must still succeed.
func TestReattachDuringTransfer(t *testing.T) {
	for _, replug := range []bool{false, true} {
		t.Run(fmt.Sprintf("replug=%v", replug), func(t *testing.T) {
			m := boot(t, hello())
			control, data := m.control.plug(t), m.data.plug(t)
			old := &stoppable{Conn: data}
			c := attach(t, control, old)
			r, err := c.Get("http://guest/flood")
			if err != nil {
				t.Fatal(err)
			}
			io.CopyN(io.Discard, r.Body, 3<<20)
			old.stop() // the host dies while the guest is writing
			if replug {
				m.data.pull()
				m.control.pull()
				control, data = m.control.plug(t), m.data.plug(t)
			}
			if got := get(t, attach(t, control, data), "/hello"); got != "hi" {
				t.Fatalf("got %q", got)
			}
		})
	}
}

// stoppable is a connection whose owner can stop using it without closing it.
type stoppable struct{ net.Conn }

func (s *stoppable) stop() {
	s.Conn.SetDeadline(longAgo)
	time.Sleep(50 * time.Millisecond) // let the client's goroutines notice
	s.Conn.SetDeadline(time.Time{})
}
func (s *stoppable) Close() error                      { return nil }
func (s *stoppable) SetDeadline(time.Time) error       { return nil }
func (s *stoppable) SetReadDeadline(t time.Time) error { return s.Conn.SetReadDeadline(t) }

func TestIdlePortsDoNotSpin(t *testing.T) {
	p := &countingPort{fakePort: newFakePort()}
	s := &Server{Control: p, Data: newFakePort(), Handler: hello()}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	s.Run(ctx)
	if p.reads > 20 {
		t.Fatalf("%d reads in 200 ms", p.reads)
	}
}

type countingPort struct {
	*fakePort
	reads int
}

func (c *countingPort) Read(p []byte) (int, error) { c.reads++; return c.fakePort.Read(p) }
