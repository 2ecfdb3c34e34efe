package execution

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

func TestCommandsOfTheOriginalGoOnInACopyAndBelongToNoExecution(t *testing.T) {
	g := newGuest(t)
	budget := g.table.Budget.left.Load()
	dir, err := os.MkdirTemp("", "abandon")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o777)
	exists := func(name string) func() bool {
		return func() bool { _, err := os.Stat(dir + "/" + name); return err == nil }
	}
	g.run("echo finished", "id", "exec_finished")
	command := fmt.Sprintf(`cd %s; head -c 100000 /dev/zero; touch started; cat; touch stdin-ended; until [ -e go ]; do sleep 0.02; done; head -c 3000000 /dev/zero; touch done`, dir)
	stream := g.postTo("/live", map[string]any{"id": "exec_running", "command": command, "stdin": true, "spool_bytes": 1 << 20, "timeout_ms": 60_000})
	until(t, "the start of the command", exists("started"))

	g.table.Abandon()
	streamed := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(stream.Body)
		streamed <- b
	}()
	select {
	case <-streamed:
	case <-time.After(20 * time.Second):
		t.Fatal("the stream of the original's command stays open")
	}
	until(t, "the end of stdin", exists("stdin-ended"))
	if known := g.known(); len(known) != 0 || g.table.running != 0 {
		t.Fatalf("%d executions are known, %d running", len(known), g.table.running)
	}
	if left := g.table.Budget.left.Load(); left != budget {
		t.Errorf("%d bytes of output are kept", budget-left)
	}
	for _, id := range []string{"exec_finished", "exec_running"} {
		if o := g.run("echo of the copy", "id", id); o.stdout != "of the copy\n" {
			t.Errorf("the id %s is not free: %+v", id, o)
		}
	}

	os.WriteFile(dir+"/go", nil, 0o644)
	until(t, "the end of the original's command", exists("done"))
	if known := g.known(); len(known) != 2 {
		t.Errorf("%d executions are known", len(known))
	}
	if e, err := g.table.Get("exec_running"); err != nil || e.running() || g.table.running != 0 {
		t.Errorf("the end of the original's command changed the copy's: %v, %d running", err, g.table.running)
	}
}
