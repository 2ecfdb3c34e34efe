package terminal

import (
	"context"
	"fmt"
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
	told   []string // sizes and positions
}

// open starts a terminal.
func open(t *testing.T, s *httptest.Server, query string) *screen {
	t.Helper()
	return view(t, s, "/terminals?cwd=/&"+query)
}

func view(t *testing.T, s *httptest.Server, path string) *screen {
	t.Helper()
	r, w := io.Pipe()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	request, _ := http.NewRequestWithContext(ctx, "POST", s.URL+path, r)
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

// leave disconnects.
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
		switch kind {
		case frameExit:
			return string(p)
		case frameBytes:
			s.shown.Write(p)
		default:
			s.told = append(s.told, string(p))
		}
	}
	return ""
}

func TestLoginShell(t *testing.T) {
	_, server := newServer(t)
	s := open(t, server, "id=x&cols=100&rows=30")
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

func TestDeleteHangsUp(t *testing.T) {
	table, server := newServer(t)
	s := open(t, server, "id=x")
	s.press("echo o''k\n")
	s.until("ok")
	request, _ := http.NewRequest("DELETE", server.URL+"/terminals/x", nil)
	if r, err := server.Client().Do(request); err != nil || r.StatusCode != 204 {
		t.Fatal(r, err)
	}
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
	frame.Write(s.keys, frameSize, []byte(`{"cols":77,"rows":11}`))
	s.press("stty size\n")
	s.until("11 77")
	s.press("PS1=; echo qui''et\n")
	s.until("quiet\r\n")
	printed := s.shown.Len()
	if r, err := server.Client().Post(server.URL+"/terminals?id=mine&cwd=/", "", nil); err != nil || r.StatusCode != 409 {
		t.Fatal(r.StatusCode, err)
	}
	s.leave()
	s = view(t, server, "/terminals/mine")
	s.until("quiet\r\n")
	// What the shell prints before its next, empty prompt may come before the end is told or after it.
	var end int
	position, sizes, _ := strings.Cut(strings.Join(s.told, " "), " ")
	if n, err := fmt.Sscanf(position, `{"end":%d,"position":0}`, &end); n != 1 || err != nil || end < printed {
		t.Fatal(s.told, printed)
	}
	if !strings.Contains(s.shown.String(), "first") || sizes != `{"cols":80,"rows":24} {"cols":77,"rows":11}` {
		t.Fatal(s.shown.String(), s.told)
	}
	s.press("echo $V-again\n")
	s.until("kept-again")
	seen := s.shown.Len()
	s.leave()
	s = view(t, server, fmt.Sprintf("/terminals/mine?after=%d", seen))
	s.press("exit\n")
	s.until("")
	if strings.Contains(s.shown.String(), "first") {
		t.Fatalf("from %d: %q", seen, s.shown.String())
	}
	gone(t, table)
	if r, err := server.Client().Post(server.URL+"/terminals/mine", "", nil); err != nil || r.StatusCode != 404 {
		t.Fatal(r.StatusCode, err)
	}
}

func TestATerminalWithoutViewersEndsAfterAWhile(t *testing.T) {
	table, server := newServer(t)
	s := open(t, server, "id=idle")
	s.press("echo o''k\n")
	s.until("ok")
	table.endIdle(0)
	if len(table.known) != 1 {
		t.Fatal("a terminal with a viewer was ended")
	}
	s.leave()
	for table.known["idle"] != nil && table.known["idle"].viewer != nil {
		time.Sleep(5 * time.Millisecond)
	}
	table.endIdle(time.Hour)
	time.Sleep(50 * time.Millisecond)
	if len(table.known) != 1 {
		t.Fatal("a terminal was ended too early")
	}
	table.endIdle(0)
	gone(t, table)
}

func TestTerminalsOfTheOriginalCannotBeReachedInACopy(t *testing.T) {
	table, server := newServer(t)
	s := open(t, server, "id=original")
	s.press("echo o''k\n")
	s.until("ok")
	table.Abandon()
	if r, err := server.Client().Post(server.URL+"/terminals/original", "", nil); err != nil || r.StatusCode != 404 {
		t.Fatal(r.StatusCode, err)
	}
	r, err := server.Client().Get(server.URL + "/terminals")
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(r.Body); strings.TrimSpace(string(b)) != `{"terminals":[]}` {
		t.Fatalf("%s", b)
	}
	s.press("exit\n")
	s.until("")
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
	for query, want := range map[string]int{"id=x&cols=0": 400, "id=x&cols=x": 400, "rows=5000": 400, "id=a/b": 400, "": 400, "id=x&cwd=/root": 400} {
		r, err := server.Client().Post(server.URL+"/terminals?"+query, "", nil)
		if err != nil || r.StatusCode != want {
			t.Error(query, r.StatusCode, err)
		}
	}
}
