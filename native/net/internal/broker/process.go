package broker

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"mayfly/net/internal/wire"
)

const (
	// startTimeout is how long the resolver may take until it is ready.
	startTimeout = 30 * time.Second
	// keptOutputBytes is how much of the resolver's last output is reported when it exits.
	keptOutputBytes = 2000
	// maxOpenFiles is enough for two sockets, 16 connections and 64 lookups of each of 500 machines.
	maxOpenFiles = 1 << 16
)

// Process is the running resolver.
type Process struct {
	Conn   *wire.Conn
	cmd    *exec.Cmd
	output *tail
}

// Confinement is what the resolver's process is started with.
type Confinement struct {
	// JailPath is the mayfly-jail program; see native/jail.
	JailPath string
	// UID is the resolver's user and group.
	UID uint32
	// Program is this program, the only file that the resolver sees.
	Program string
	Argv    []string
}

// Start starts the resolver. It must be called on the process's first thread, whose end would otherwise end the resolver.
func Start(c Confinement) (*Process, error) {
	ours, theirs, err := wire.Pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	spec, err := c.spec()
	if err != nil {
		ours.Close()
		return nil, err
	}
	process := &Process{Conn: ours, cmd: exec.Command(c.JailPath, spec), output: &tail{}}
	process.cmd.Stdin = theirs
	process.cmd.Stderr = process.output
	process.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.cmd.Start(); err != nil {
		ours.Close()
		return nil, err
	}
	return process, nil
}

// spec is the jail of the resolver: an empty network namespace, no device, and no file but its program.
func (c Confinement) spec() (string, error) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{
		"uid":     c.UID,
		"gid":     c.UID,
		"network": "none",
		"binds":   []map[string]string{{"path": c.Program, "mode": "exec"}},
		"rlimits": map[string]uint64{"core": 0, "fsize": 0, "memlock": 0, "nofile": min(files.Max, maxOpenFiles)},
		"program": c.Program,
		"argv":    c.Argv,
	})
	return string(text), err
}

// AwaitConfined waits until the resolver is ready and checks from /proc that it has no privileges left.
func (p *Process) AwaitConfined(broker *Broker, uid uint32) error {
	ready := make(chan error, 1)
	go func() { ready <- broker.AwaitReady() }()
	select {
	case err := <-ready:
		if err != nil {
			return fmt.Errorf("the resolver did not start: %w", err)
		}
	case <-time.After(startTimeout):
		return fmt.Errorf("the resolver was not ready within %s", startTimeout)
	}
	return checkConfined(fmt.Sprintf("/proc/%d", p.cmd.Process.Pid), uid)
}

// checkConfined refuses a process if one of its threads has another user, a group, a capability, or no filter for system calls.
func checkConfined(folder string, uid uint32) error {
	threads, err := filepath.Glob(folder + "/task/*/status")
	if err != nil || len(threads) == 0 {
		return fmt.Errorf("the resolver's threads in %s cannot be listed", folder)
	}
	id := strconv.FormatUint(uint64(uid), 10)
	ids := strings.Join([]string{id, id, id, id}, " ")
	none := strings.Repeat("0", 16)
	want := map[string]string{
		"Uid": ids, "Gid": ids, "Groups": "", "CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
		"NoNewPrivs": "1", "Seccomp": "2",
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			value = strings.Join(strings.Fields(value), " ")
			if expected, checked := want[name]; checked && value != expected {
				return fmt.Errorf("the resolver is not confined: %s is %q instead of %q", name, value, expected)
			}
		}
	}
	return nil
}

// Stop kills the resolver, which closes all its sockets, and waits for its end. It returns how the resolver ended and its last output.
func (p *Process) Stop() string {
	p.Conn.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	return strings.TrimSpace(fmt.Sprintf("%s %s", p.cmd.ProcessState, p.output))
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if extra := len(t.text) - keptOutputBytes; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(text), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
