package execution

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mayfly/agent/internal/cgroup"
	"mayfly/agent/internal/frame"
)

// guest serves a table over real HTTP/2.
type guest struct {
	*testing.T
	table  *Table
	server *httptest.Server
	client *http.Client
}

func newGuest(t *testing.T) *guest {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	g := &guest{T: t, table: &Table{Tree: &cgroup.Tree{}, Budget: NewBudget(64 << 20)}}
	mux := http.NewServeMux()
	g.table.Register(mux)
	g.server = httptest.NewUnstartedServer(mux)
	g.server.EnableHTTP2 = true
	g.server.StartTLS()
	t.Cleanup(g.server.Close)
	g.client = g.server.Client()
	return g
}

func (g *guest) post(request map[string]any) *http.Response { return g.postTo("/executions", request) }

func (g *guest) postTo(path string, request map[string]any) *http.Response {
	g.Helper()
	if request["cwd"] == nil {
		request["cwd"] = "/"
	}
	b, _ := json.Marshal(request)
	r, err := g.client.Post(g.server.URL+path, "application/json", bytes.NewReader(b))
	if err != nil {
		g.Fatal(err)
	}
	return r
}

// known returns all executions, in no particular order.
func (g *guest) known() (all []*Execution) {
	g.table.mu.Lock()
	defer g.table.mu.Unlock()
	for _, e := range g.table.known {
		if e != nil {
			all = append(all, e)
		}
	}
	return all
}

type outcome struct {
	stdout, stderr string
	Result
}

func (g *guest) collect(r *http.Response) (o outcome) {
	g.Helper()
	defer r.Body.Close()
	if r.StatusCode != 200 {
		b, _ := io.ReadAll(r.Body)
		g.Fatalf("status %d: %s", r.StatusCode, b)
	}
	frames := frame.NewReader(r.Body)
	var stdout, stderr strings.Builder
	for i := 0; ; i++ {
		kind, p, err := frames.Next()
		switch {
		case err != nil:
			g.Fatalf("no result: %v", err)
		case (i == 0) != (kind == 0):
			g.Fatalf("frame %d is of kind %d", i, kind)
		case kind == 1:
			stdout.Write(p)
		case kind == 2:
			stderr.Write(p)
		case kind == 3:
			if err := json.Unmarshal(p, &o.Result); err != nil {
				g.Fatal(err)
			}
			if _, _, err := frames.Next(); err != io.EOF {
				g.Fatalf("after the result: %v", err)
			}
			o.stdout, o.stderr = stdout.String(), stderr.String()
			return o
		}
	}
}

var serial int

func (g *guest) run(command string, more ...any) outcome {
	g.Helper()
	serial++
	request := map[string]any{"id": fmt.Sprintf("exec_%d", serial), "command": command}
	for i := 0; i < len(more); i += 2 {
		request[more[i].(string)] = more[i+1]
	}
	return g.collect(g.post(request))
}

func TestCommand(t *testing.T) {
	g := newGuest(t)
	o := g.run(`echo out; echo err >&2; id -u; id -g; id -G; pwd; cat; exit 7`, "cwd", "/usr", "env", map[string]string{"X": "1"})
	if o.stdout != "out\n1000\n1000\n1000\n/usr\n" || o.stderr != "err\n" || o.ExitCode != 7 || o.Signal != 0 || o.TimedOut || o.Truncated {
		t.Fatalf("%+v", o)
	}
	if o.StdoutBytes != int64(len(o.stdout)) || o.FinishedAtMs < o.StartedAtMs || o.DurationMs > 5000 {
		t.Fatalf("%+v", o)
	}
	if o := g.run("-x"); o.ExitCode != 127 {
		t.Fatalf("a command that looks like an option: %+v", o)
	}
	if o := g.run(`echo "$X $HOME $USER"`, "env", map[string]string{"X": "é"}); o.stdout != "é /home/sandbox sandbox\n" {
		t.Fatalf("%+v", o)
	}
	if o := g.run(`kill -SEGV $$`); o.ExitCode != 139 || o.Signal != 11 {
		t.Fatalf("%+v", o)
	}
	if o := g.run(`kill -9 $$`); o.ExitCode != 137 || o.Signal != 9 || o.TimedOut {
		t.Fatalf("%+v", o)
	}
}

func TestInvalidInput(t *testing.T) {
	g := newGuest(t)
	long := strings.Repeat("x", 200_000)
	for _, c := range []struct {
		request map[string]any
		status  int
		code    string
	}{
		{map[string]any{"id": "a", "command": "true", "cwd": "/root"}, 400, "bad_cwd"},
		{map[string]any{"id": "a", "command": "true", "cwd": "/etc/passwd"}, 400, "bad_cwd"},
		{map[string]any{"id": "a", "command": "tr\x00ue"}, 400, "bad_request"},
		{map[string]any{"id": "a", "command": "true", "cwd": "/\x00"}, 400, "bad_request"},
		{map[string]any{"id": "a", "command": "true", "env": map[string]string{"A": "\x00"}}, 400, "bad_request"},
		{map[string]any{"id": "a", "command": "true", "env": map[string]string{"A": long}}, 400, "arguments_too_large"},
		{map[string]any{"id": "../a", "command": "true"}, 400, "bad_request"},
		{map[string]any{"id": "a", "command": strings.Repeat("y", 5<<20)}, 413, "too_large"},
	} {
		r := g.post(c.request)
		var body struct{ Code string }
		json.NewDecoder(r.Body).Decode(&body)
		r.Body.Close()
		if r.StatusCode != c.status || body.Code != c.code {
			t.Errorf("%.80v: %d %s", c.request, r.StatusCode, body.Code)
		}
	}
	if n := len(g.known()); n != 0 || g.table.running != 0 {
		t.Fatalf("%d known, %d running", n, g.table.running)
	}
}

func TestTimeoutKillsTheSession(t *testing.T) {
	g := newGuest(t)
	start := time.Now()
	o := g.run(`echo before; sleep 100 & sleep 100`, "timeout_ms", 200)
	if o.ExitCode != 124 || !o.TimedOut || o.stdout != "before\n" || time.Since(start) > 5*time.Second {
		t.Fatalf("%+v", o)
	}
}

func TestBackgroundProcessDoesNotDelayTheResult(t *testing.T) {
	g := newGuest(t)
	dir, _ := os.MkdirTemp("", "bg")
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o777)
	o := g.run(fmt.Sprintf(`cd %s; (until [ -e go ]; do sleep 0.02; done; for i in $(seq 2000); do echo "noise noise noise noise noise $i"; done; echo alive > f) & echo started`, dir))
	if o.stdout != "started\n" || o.ExitCode != 0 {
		t.Fatalf("%+v", o)
	}
	os.WriteFile(dir+"/go", nil, 0o644) // lets the child continue, with no reader
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if b, _ := os.ReadFile(dir + "/f"); string(b) == "alive\n" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the background child died")
		}
	}
}

func TestOutputInThePipeAtExitIsCaptured(t *testing.T) {
	g := newGuest(t)
	for range 20 {
		if o := g.run(`head -c 60000 /dev/zero | tr '\0' x; sleep 10 & exit 0`); len(o.stdout) != 60000 {
			t.Fatalf("%d bytes", len(o.stdout))
		}
	}
}

func TestLargeOutputIsTruncated(t *testing.T) {
	g := newGuest(t)
	start := time.Now()
	o := g.run(`head -c 20000000 /dev/zero; echo e >&2`)
	if len(o.stdout) != 1<<20 || o.StdoutBytes != 20_000_000 || !o.Truncated || o.stderr != "e\n" {
		t.Fatalf("%d kept of %d, truncated %v", len(o.stdout), o.StdoutBytes, o.Truncated)
	}
	t.Logf("20 MB in %v", time.Since(start))
	if o := g.run(`printf 12345`, "capture_bytes", 5); o.stdout != "12345" || o.Truncated {
		t.Fatalf("%+v", o)
	}
	if o := g.run(`printf 12345`, "capture_bytes", 0); o.stdout != "" || !o.Truncated || o.StdoutBytes != 5 {
		t.Fatalf("%+v", o)
	}
}

func TestResultIsKeptUntilAcknowledged(t *testing.T) {
	g := newGuest(t)
	r := g.post(map[string]any{"id": "kept", "command": "echo one; sleep 0.3; echo two"})
	r.Body.Close() // the host dies
	if r := g.post(map[string]any{"id": "kept", "command": "true"}); r.StatusCode != 409 {
		t.Fatalf("same id: %d", r.StatusCode)
	}
	if got := g.do("DELETE", "/executions/kept", ""); got != 409 {
		t.Fatalf("acknowledged while it runs: %d", got)
	}
	for range 2 {
		r, err := g.client.Get(g.server.URL + "/executions/kept")
		if err != nil {
			t.Fatal(err)
		}
		if o := g.collect(r); o.stdout != "one\ntwo\n" {
			t.Fatalf("%+v", o)
		}
	}
	if got := g.do("DELETE", "/executions/kept", ""); got != 204 {
		t.Fatal(got)
	}
	if got := g.do("GET", "/executions/kept", ""); got != 404 {
		t.Fatal(got)
	}
	if left := g.table.Budget.left.Load(); left != 64<<20 {
		t.Fatalf("the budget lost %d bytes", 64<<20-left)
	}
}

func (g *guest) do(method, path, body string) int {
	g.Helper()
	request, _ := http.NewRequest(method, g.server.URL+path, strings.NewReader(body))
	r, err := g.client.Do(request)
	if err != nil {
		g.Fatal(err)
	}
	r.Body.Close()
	return r.StatusCode
}

func TestStdinAndKill(t *testing.T) {
	g := newGuest(t)
	r := g.post(map[string]any{"id": "typed", "command": "read a; echo got $a; cat", "stdin": true})
	if got := g.do("POST", "/executions/typed/stdin", "hello\n"); got != 204 {
		t.Fatal(got)
	}
	if got := g.do("POST", "/executions/typed/stdin?close=1", "rest"); got != 204 {
		t.Fatal(got)
	}
	if o := g.collect(r); o.stdout != "got hello\nrest" {
		t.Fatalf("%+v", o)
	}
	if got := g.do("POST", "/executions/typed/stdin", "x"); got != 502 {
		t.Fatal(got)
	}
	r = g.post(map[string]any{"id": "victim", "command": "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.02; done"})
	frames := frame.NewReader(r.Body)
	frames.Next()
	frames.Next()
	if got := g.do("POST", "/executions/victim/kill", `{"signal":15}`); got != 204 {
		t.Fatal(got)
	}
	again, _ := g.client.Get(g.server.URL + "/executions/victim")
	if o := g.collect(again); o.stdout != "ready\ncaught\n" || o.ExitCode != 3 {
		t.Fatalf("%+v", o)
	}
	if got := g.do("POST", "/executions/victim/kill", `{"signal":0}`); got != 400 {
		t.Fatal(got)
	}
	if got := g.do("POST", "/executions/victim/kill", `{"signal":9}`); got != 502 {
		t.Fatal(got) // it has ended
	}
	if got := g.do("POST", "/executions/victim/stdin", "x"); got != 400 {
		t.Fatal(got)
	}
}

func TestLongCommand(t *testing.T) {
	g := newGuest(t)
	const tail = "; ls /proc/self/fd; echo $0; exit 9"
	short := g.run("echo 500000" + tail)
	long := g.run("x='" + strings.Repeat("é", 500_000) + "'; LANG=C.UTF-8; echo ${#x}" + tail)
	if long.stdout != short.stdout || long.stderr != short.stderr || long.ExitCode != 9 {
		t.Fatalf("%+v\n%+v", short, long) // the command must not see the descriptor it was read from
	}
}

func TestFiftyConcurrentCommands(t *testing.T) {
	g := newGuest(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Add(1)
		go func() {
			defer all.Done()
			r := g.post(map[string]any{"id": fmt.Sprintf("many_%d", i), "command": fmt.Sprintf("echo %d; exit %d", i, i)})
			if o := g.collect(r); o.stdout != fmt.Sprintf("%d\n", i) || o.ExitCode != i {
				t.Errorf("%d: %+v", i, o)
			}
		}()
	}
	all.Wait()
	for deadline := time.Now().Add(5 * time.Second); g.table.running != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d still count as running", g.table.running)
		}
	}
}

func TestOutputBeyondTheBudgetGoesToDisk(t *testing.T) {
	g := newGuest(t)
	g.table.Budget = NewBudget(100_000)
	const each = 1 << 20
	command := fmt.Sprintf("seq -w 1000000 | head -c %d; seq -w 2000000 2>&1 | head -c %d >&2; echo over >&2", each, each)
	for range 3 { // none is acknowledged, so the first one takes all the memory
		o := g.run(command)
		if len(o.stdout) != each || len(o.stderr) != each || o.StderrBytes != each+5 || !o.Truncated {
			t.Fatalf("%d and %d of %d bytes", len(o.stdout), len(o.stderr), o.StderrBytes)
		}
		for name, text := range map[string]string{"1": o.stdout, "2": o.stderr} {
			lines := strings.Split(text, "\n")
			for i, line := range lines[:len(lines)-1] {
				if strings.TrimLeft(line, "0") != fmt.Sprint(i+1) {
					t.Fatalf("line %d of stream %s is %q", i+1, name, line)
				}
			}
		}
	}
	if left := g.table.Budget.left.Load(); left != 0 {
		t.Fatal(left)
	}
	for _, e := range g.known() {
		if err := g.table.Acknowledge(e.ID); err != nil {
			t.Fatal(err)
		}
		if e.outputs[0].spilled != nil || e.outputs[1].spilled != nil {
			t.Fatal("a file is still open")
		}
	}
	if left := g.table.Budget.left.Load(); left != 100_000 {
		t.Fatalf("the budget lost %d bytes", 100_000-left)
	}
}

func TestWithoutMemoryAndDiskOutputIsOnlyTruncated(t *testing.T) {
	g := newGuest(t)
	g.table.Budget = NewBudget(1000)
	spillDir = t.TempDir() + "/missing"
	t.Cleanup(func() { spillDir = "/var/lib" })
	o := g.run("head -c 5000 /dev/zero; exit 0")
	if len(o.stdout) != 1000 || !o.Truncated || o.StdoutBytes != 5000 {
		t.Fatalf("%d of %d", len(o.stdout), o.StdoutBytes)
	}
	if left := g.table.Budget.left.Load(); left != 0 {
		t.Fatal(left)
	}
}

func BenchmarkTrue(b *testing.B) {
	table := &Table{Tree: &cgroup.Tree{}, Budget: NewBudget(64 << 20)}
	for i := range b.N {
		id := fmt.Sprint("b", i)
		done := make(chan struct{})
		if _, err := start(&Request{ID: id, Command: "true", Cwd: "/"}, table.Tree, table.Budget, func() { close(done) }); err != nil {
			b.Fatal(err)
		}
		<-done
	}
}
