package terminal

import (
	"os"
	"sync"
	"syscall"
	"time"

	"mayfly/agent/internal/cgroup"
	"mayfly/agent/internal/fsuser"
	"mayfly/agent/internal/shell"
)

// Terminal is a login shell on a pseudo-terminal, with or without a viewer.
type Terminal struct {
	master *os.File
	pid    int
	group  *cgroup.Group

	mu      sync.Mutex
	changed *sync.Cond
	history history
	viewer  *viewer
	left    time.Time // when it lost its viewer; zero while it has one
	exited  bool
	code    *int
}

// start runs `bash -l`. ended is called when it has exited.
func start(group *cgroup.Group, dir string, s size, ended func()) (*Terminal, error) {
	env, err := shell.Environment(map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"})
	if err != nil {
		return nil, err
	}
	master, slave, err := openPTY(s)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(slave)
	const ttyGroup = 5
	syscall.Fchown(slave, fsuser.UID, ttyGroup)
	syscall.Fchmod(slave, 0o620)
	fd := uintptr(slave)
	pid, err := shell.Start{Args: []string{"bash", "-l"}, Env: env, Dir: dir, Files: []uintptr{fd, fd, fd}, Group: group, Terminal: true}.Run()
	if err != nil {
		master.Close()
		return nil, err
	}
	t := &Terminal{master: master, pid: pid, group: group, left: time.Now()}
	t.changed = sync.NewCond(&t.mu)
	t.history.resize(s)
	go t.supervise(ended)
	return t, nil
}

// supervise reads the output of the shell and waits for it to exit.
func (t *Terminal) supervise(ended func()) {
	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		t.pump()
	}()
	var ws syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(t.pid, &ws, 0, nil); err != syscall.EINTR {
			break
		}
	}
	t.mu.Lock()
	t.exited = true
	t.changed.Broadcast()
	t.mu.Unlock()
	t.master.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // read its last output
	<-pumped
	code := ws.ExitStatus()
	if ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	ended()
	t.mu.Lock()
	t.code = &code
	t.changed.Broadcast()
	t.mu.Unlock()
	t.master.Close()
	t.group.Release()
}

func (t *Terminal) pump() {
	buf := make([]byte, 32<<10)
	for {
		n, err := t.master.Read(buf)
		if n > 0 {
			t.add(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// add appends output. It blocks while the viewer is too far behind; without a viewer it never blocks.
func (t *Terminal) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.exited && t.viewer != nil && t.history.end()+int64(len(p))-t.viewer.at > historyLen {
		t.changed.Wait()
	}
	t.history.add(p)
	t.changed.Broadcast()
}

// hangUp ends the terminal with SIGHUP to its session.
func (t *Terminal) hangUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.exited {
		syscall.Kill(-t.pid, syscall.SIGHUP)
		t.master.Close()
		t.viewer = nil
		t.changed.Broadcast()
	}
}

// isAbandoned reports whether nobody has viewed the terminal for this long.
func (t *Terminal) isAbandoned(idle time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.viewer == nil && time.Since(t.left) > idle
}

// resize changes the size of the terminal.
func (t *Terminal) resize(s size) {
	if !s.valid() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, err := t.master.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { setSize(int(fd), s) })
	}
	t.history.resize(s)
	t.changed.Broadcast()
}
