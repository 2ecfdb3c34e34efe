package terminal

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"mayfly/agent/internal/cgroup"
	"mayfly/agent/internal/frame"
)

func newServer(t *testing.T) (*Table, *httptest.Server) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	table := &Table{Tree: &cgroup.Tree{}}
	mux := http.NewServeMux()
	table.Register(mux)
	s := httptest.NewUnstartedServer(mux)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return table, s
}

// screen is the host side of a terminal.
type screen struct {
	*testing.T
	keys   *io.PipeWriter
	frames *frame.Reader
	shown  strings.Builder
}

func open(t *testing.T, s *httptest.Server, query string) *screen {
	t.Helper()
	r, w := io.Pipe()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	t.Cleanup(cancel)
	request, _ := http.NewRequestWithContext(ctx, "POST", s.URL+"/terminals?cwd=/&"+query, r)
	answer, err := s.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != 200 {
		b, _ := io.ReadAll(answer.Body)
		t.Fatalf("%d %s", answer.StatusCode, b)
	}
	return &screen{T: t, keys: w, frames: frame.NewReader(answer.Body)}
}

// leave disconnects without ending the body.
func (s *screen) leave() { s.keys.CloseWithError(io.ErrClosedPipe) }

func (s *screen) press(keys string) { frame.Write(s.keys, 0, []byte(keys)) }

// until reads until the output contains text, or until the exit frame, which it returns.
func (s *screen) until(text string) string {
	s.Helper()
	for text == "" || !strings.Contains(s.shown.String(), text) {
		kind, p, err := s.frames.Next()
		if err != nil {
			s.Fatalf("%v; shown: %q", err, s.shown.String())
		}
		if kind == 3 {
			return string(p)
		}
		s.shown.Write(p)
	}
	return ""
}

func TestLoginShell(t *testing.T) {
	_, server := newServer(t)
	s := open(t, server, "cols=100&rows=30")
	s.press("stty size; tty; id -u; echo $TERM\n")
	s.until("xterm-256color")
	for _, want := range []string{"30 100", "/dev/pts/", "1000"} {
		if !strings.Contains(s.shown.String(), want) {
			t.Fatalf("%q is missing in %q", want, s.shown.String())
		}
	}
	frame.Write(s.keys, 1, []byte(`{"cols":77,"rows":11}`))
	s.press("stty size\n")
	s.until("11 77")
	s.press("exit 5\n")
	if got := s.until(""); got != `{"exit_code":5}` {
		t.Fatal(got)
	}
}

func TestEndOfBodyHangsUp(t *testing.T) {
	table, server := newServer(t)
	s := open(t, server, "id=x")
	s.press("echo o''k\n")
	s.until("ok")
	s.keys.Close()
	if got := s.until(""); !strings.Contains(got, `"exit_code":129`) && !strings.Contains(got, `"exit_code":1`) {
		t.Fatal(got)
	}
	gone(t, table)
}

func gone(t *testing.T, table *Table) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		table.mu.Lock()
		n := len(table.known)
		table.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the terminal still runs")
		}
	}
}

func TestReconnect(t *testing.T) {
	table, server := newServer(t)
	s := open(t, server, "id=mine")
	s.press("V=kept; echo fi''rst\n")
	s.until("first")
	s.leave()
	s = open(t, server, "id=mine")
	s.until("first")
	s.press("echo $V-again\n")
	s.until("kept-again")
	s.press("exit\n")
	s.until("")
	gone(t, table)
}

func TestDisconnectWithoutIDHangsUp(t *testing.T) {
	table, server := newServer(t)
	s := open(t, server, "")
	s.press("echo o''k\n")
	s.until("ok")
	s.leave()
	gone(t, table)
}

func TestOutputWithoutViewerDoesNotBlock(t *testing.T) {
	table, server := newServer(t)
	s := open(t, server, "id=loud")
	s.press("sleep 0.1; seq 300000; exit\n")
	s.until("seq")
	s.leave()
	gone(t, table)
}

func TestInvalidInput(t *testing.T) {
	_, server := newServer(t)
	for query, want := range map[string]int{"cols=0": 400, "cols=x": 400, "rows=5000": 400, "id=a/b": 400, "cwd=/root": 400} {
		r, err := server.Client().Post(server.URL+"/terminals?"+query, "", nil)
		if err != nil || r.StatusCode != want {
			t.Error(query, r.StatusCode, err)
		}
	}
}
