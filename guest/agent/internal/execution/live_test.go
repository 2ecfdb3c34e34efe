package execution

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mayfly/agent/internal/frame"
)

// seen is what a reader of a live command has received.
type seen struct {
	outcome
	both  string // both streams in their order
	lost  int64
	ended bool
}

// readLive reads until the result, or until enough returns true.
func (g *guest) readLive(r *http.Response, enough func(seen) bool) (s seen) {
	g.Helper()
	defer r.Body.Close()
	if r.StatusCode != 200 {
		b, _ := io.ReadAll(r.Body)
		g.Fatalf("status %d: %s", r.StatusCode, b)
	}
	frames := frame.NewReader(r.Body)
	for !enough(s) {
		kind, p, err := frames.Next()
		if err != nil {
			g.Fatalf("no result: %v", err)
		}
		switch kind {
		case frameStdout:
			s.stdout += string(p)
			s.both += string(p)
		case frameStdout + 1:
			s.stderr += string(p)
			s.both += string(p)
		case frameGap:
			var gap struct{ Bytes int64 }
			json.Unmarshal(p, &gap)
			s.lost += gap.Bytes
		case frameResult:
			json.Unmarshal(p, &s.Result)
			s.ended = true
			return s
		}
	}
	return s
}

func never(seen) bool { return false }

func (g *guest) continueAfter(id string, position int) *http.Response {
	g.Helper()
	r, err := g.client.Get(fmt.Sprintf("%s/live/%s?after=%d", g.server.URL, id, position))
	if err != nil {
		g.Fatal(err)
	}
	return r
}

func live(id, command string) map[string]any {
	return map[string]any{"id": id, "command": command, "spool_bytes": 1 << 20}
}

func TestALiveCommandIsSeenWhileItRunsAndContinuedByAnotherReader(t *testing.T) {
	g := newGuest(t)
	r := g.postTo("/live", live("build", "for i in $(seq 50); do echo line $i; [ $i = 3 ] && sleep 0.2 && echo warning >&2 && sleep 0.2; sleep 0.01; done; exit 4"))
	first := g.readLive(r, func(s seen) bool { return len(s.both) > 20 })
	if first.ended {
		t.Fatal("the first lines came with the end")
	}
	rest := g.readLive(g.continueAfter("build", len(first.both)), never)
	all := g.readLive(g.continueAfter("build", 0), never)
	if first.both+rest.both != all.both || all.stderr != "warning\n" || strings.Count(all.stdout, "\n") != 50 || all.ExitCode != 4 {
		t.Fatalf("%q and %q of %q", first.both, rest.both, all.both)
	}
	if !strings.Contains(all.both, "line 3\nwarning\nline 4\n") {
		t.Fatalf("out of order: %q", all.both)
	}
	// The stored record: the captured beginning, which the host collects at the end.
	collected, err := g.client.Get(g.server.URL + "/executions/build?late=1")
	if err != nil {
		t.Fatal(err)
	}
	if o := g.collect(collected); o.stdout != all.stdout || o.stderr != all.stderr {
		t.Fatalf("%+v", o)
	}
	if got := g.do("DELETE", "/executions/build", ""); got != 204 {
		t.Fatal(got)
	}
	if after := g.readLive(g.continueAfter("build", len(all.both)-3), never); after.both != all.both[len(all.both)-3:] || after.ExitCode != 4 {
		t.Fatalf("after the acknowledgement: %+v", after)
	}
	if left := g.table.Budget.left.Load(); left != 64<<20 {
		t.Fatalf("the budget lost %d bytes", 64<<20-left)
	}
	for path, want := range map[string]int{"/live/build?after=100000": 400, "/live/build?after=-1": 400, "/live/build": 400, "/live/nothing?after=0": 404} {
		if got := g.do("GET", path, ""); got != want {
			t.Errorf("%s: %d", path, got)
		}
	}
}

func TestNobodyHoldsALiveCommandAndALateReaderIsToldWhatItMissed(t *testing.T) {
	g := newGuest(t)
	r := g.postTo("/live", live("flood", "head -c 50000000 /dev/zero; echo done >&2"))
	defer r.Body.Close() // open, but never read
	e, err := g.table.Get("flood")
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the command", func() bool { return !e.running() })
	late := g.readLive(g.continueAfter("flood", 0), never)
	if late.lost == 0 || late.lost+int64(len(late.both)) != 50_000_005 || late.stderr != "done\n" {
		t.Fatalf("%d lost, %d read", late.lost, len(late.both))
	}
}

func TestOnlyTheLatestLiveCommandsAreKept(t *testing.T) {
	g := newGuest(t)
	for i := range maxKept + 3 {
		id := fmt.Sprint("kept_", i)
		g.readLive(g.postTo("/live", live(id, "echo x")), never)
		if got := g.do("DELETE", "/executions/"+id, ""); got != 204 {
			t.Fatal(got)
		}
	}
	if known := g.known(); len(known) != maxKept {
		t.Fatalf("%d are kept", len(known))
	}
	if got := g.do("GET", "/live/kept_0?after=0", ""); got != 404 {
		t.Fatal(got)
	}
	if got := g.do("DELETE", fmt.Sprint("/executions/kept_", maxKept), ""); got != 204 || len(g.table.kept) != maxKept {
		t.Fatal("acknowledged twice")
	}
}

func TestInputIsAcceptedAsAWholeOrNotAtAll(t *testing.T) {
	g := newGuest(t)
	r := g.postTo("/live", map[string]any{"id": "typed", "command": "sleep 0.2; wc -c; echo end", "spool_bytes": 1 << 20, "stdin": true})
	half := strings.Repeat("x", maxInput/2)
	for range 4 {
		if got := g.do("POST", "/executions/typed/stdin", half); got != 204 {
			t.Fatal(got)
		}
	}
	if got := g.do("POST", "/executions/typed/stdin", strings.Repeat("x", maxInput+1)); got != 413 {
		t.Fatal(got)
	}
	if got := g.do("POST", "/executions/typed/stdin?close=1", "!"); got != 204 {
		t.Fatal(got)
	}
	if got := g.do("POST", "/executions/typed/stdin", "more"); got != 502 {
		t.Fatal(got)
	}
	if s := g.readLive(r, never); strings.TrimSpace(s.stdout) != fmt.Sprintf("%d\nend", 2*maxInput+1) {
		t.Fatalf("%q", s.stdout)
	}
}

func TestInputForACommandThatEndedIsRefusedAtOnce(t *testing.T) {
	g := newGuest(t)
	g.readLive(g.postTo("/live", map[string]any{"id": "over", "command": "true", "spool_bytes": 1 << 20, "stdin": true}), never)
	start := time.Now()
	if got := g.do("POST", "/executions/over/stdin", "x"); got != 502 || time.Since(start) > inputWait/2 {
		t.Fatal(got, time.Since(start))
	}
}
