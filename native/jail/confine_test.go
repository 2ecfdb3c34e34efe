package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// service returns a confinement with what small programs of the host need.
func service(t *testing.T, program string, argv ...string) confinement {
	if os.Getuid() != 0 {
		t.Skip("only root can confine a process")
	}
	c := confinement{Kind: kindService, UID: testUID, GID: testUID, TmpBytes: 1 << 20, Program: program, Argv: argv, Folder: "/"}
	for _, path := range []string{"/usr/lib", "/usr/lib64", program} {
		c.Binds = append(c.Binds, bind{Path: path, Mode: "exec", Optional: true})
	}
	return c
}

// confinedCommand runs mayfly-jail with a document on descriptor 3.
func confinedCommand(t *testing.T, c confinement) *exec.Cmd {
	t.Helper()
	document, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "confine", "3")
	cmd.Env = []string{asJail + "=1", "SECRET=1"}
	cmd.ExtraFiles = []*os.File{read}
	write.Write(document)
	write.Close()
	t.Cleanup(func() { read.Close() })
	return cmd
}

// confineAndRun runs a program to its end and returns its output and exit code.
func confineAndRun(t *testing.T, c confinement) (stdout, stderr string, code int) {
	t.Helper()
	cmd := confinedCommand(t, c)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	lines := withoutNotices(strings.SplitAfter(errs.String(), "\n"))
	return out.String(), strings.Join(lines, ""), cmd.ProcessState.ExitCode()
}

// withoutNotices drops what mayfly-jail says on a host without CAP_SYS_RESOURCE, and in a container that forbids Landlock.
func withoutNotices(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, "CAP_SYS_RESOURCE") || strings.Contains(line, "forbids Landlock")
	})
}

// running is a confined shell that waits for the test.
type running struct {
	cmd *exec.Cmd
	// parent and program are the /proc folders of mayfly-jail and of the confined program.
	parent, program proc
}

// startConfined runs a shell script that prints "ready", and returns once it has.
func startConfined(t *testing.T, script string, change func(*confinement), env ...string) running {
	t.Helper()
	c := service(t, "/usr/bin/sh", "-c", script)
	if change != nil {
		change(&c)
	}
	cmd := confinedCommand(t, c)
	cmd.Env = append(cmd.Env, env...)
	stdin, _ := cmd.StdinPipe()
	stdout, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the program did not start: %q %v", line, err)
	}
	parent := proc(fmt.Sprintf("/proc/%d", cmd.Process.Pid))
	if c.Kind == kindHost {
		return running{cmd, parent, parent}
	}
	child := strings.TrimSpace(parent.read(t, fmt.Sprintf("task/%d/children", cmd.Process.Pid)))
	return running{cmd, parent, proc("/proc/" + child)}
}

const waiting = "echo ready; read line"

func TestAServiceAndItsParentHaveNoPrivileges(t *testing.T) {
	r := startConfined(t, waiting, nil)
	id := strconv.Itoa(testUID)
	none := "0000000000000000"
	want := map[string]string{
		"Uid": strings.Repeat(id+" ", 3) + id, "Gid": strings.Repeat(id+" ", 3) + id, "Groups": "", "NoNewPrivs": "1",
		"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
	}
	for field, value := range want {
		for name, p := range map[string]proc{"service": r.program, "parent": r.parent} {
			if got := p.status(t, field); got != value {
				t.Errorf("%s: %s: %q, want %q", name, field, got, value)
			}
		}
	}
	for field, value := range map[string]string{"Seccomp": "2", "Threads": "1", "Umask": "0077", "NSpid": filepath.Base(string(r.program)) + " 1"} {
		if got := r.program.status(t, field); got != value {
			t.Errorf("%s: %q, want %q", field, got, value)
		}
	}
	// All threads of the parent, not only the one that asked.
	threads, _ := os.ReadDir(string(r.parent) + "/task")
	for _, thread := range threads {
		p := proc(string(r.parent) + "/task/" + thread.Name())
		if p.status(t, "CapEff") != none || p.status(t, "CapBnd") != none || p.status(t, "NoNewPrivs") != "1" {
			t.Errorf("thread %s has privileges", thread.Name())
		}
	}
	if environ := r.program.read(t, "environ"); environ != "" {
		t.Errorf("environment %q", environ)
	}
	fds, _ := os.ReadDir(string(r.program) + "/fd")
	if len(fds) != 3 {
		t.Errorf("%d open files", len(fds))
	}
}

func TestAServiceHasItsOwnNamespacesAndTheHostsNetwork(t *testing.T) {
	r := startConfined(t, waiting, nil)
	for _, name := range []string{"mnt", "ipc", "uts", "pid", "net", "user"} {
		own, _ := os.Readlink("/proc/self/ns/" + name)
		got, err := os.Readlink(string(r.program) + "/ns/" + name)
		shared := name == "net" || name == "user"
		if err != nil || (got == own) != shared {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
}

func TestAServiceSeesItsViewOnly(t *testing.T) {
	mine, other := folder(t), folder(t)
	script := "echo /*; echo /dev/*; echo /proc/[0-9]*; echo hello >" + mine + "/new; echo x >/tmp/x && echo tmp; " +
		"exec 2>/dev/null; [ -e " + other + "/file ] || echo hidden; echo >/new || echo closed; echo >/proc/self/oom_score_adj || echo read-only; " +
		"read line </proc/kallsyms || echo empty; echo /proc/sys/*; echo >" + mine + "/../new || echo up"
	c := service(t, "/usr/bin/sh", "-c", script)
	c.Binds = append(c.Binds, bind{Path: mine, Mode: "rw"})
	stdout, stderr, code := confineAndRun(t, c)
	if code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	top, rest, _ := strings.Cut(strings.TrimSpace(stdout), "\n")
	folderOfTests := "/" + strings.Split(mine, "/")[1]
	for _, name := range strings.Fields(top) {
		if !slices.Contains([]string{"/bin", "/dev", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/tmp", "/usr", folderOfTests}, name) {
			t.Errorf("%s is in the view", name)
		}
	}
	want := "/dev/full /dev/null /dev/random /dev/urandom /dev/zero\n/proc/1\ntmp\nhidden\nclosed\nread-only\nempty\n/proc/sys/*\nup"
	if rest != want {
		t.Errorf("got %s\nwant %s", rest, want)
	}
	if text, err := os.ReadFile(mine + "/new"); string(text) != "hello\n" {
		t.Errorf("%q %v", text, err)
	}
}

func TestStopSignalsAreForwarded(t *testing.T) {
	r := startConfined(t, "trap 'exit 7' TERM; echo ready; while read line; do :; done; exit 8", nil)
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// The shell handles the signal when its read ends.
	waitForExit(t, r.cmd, 7)
}

func TestAProgramThatDoesNotHandleAStopIsKilled(t *testing.T) {
	r := startConfined(t, waiting, nil)
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitForExit(t, r.cmd, 128+int(syscall.SIGKILL))
}

func TestAServiceThatIgnoresAStopIsKilled(t *testing.T) {
	r := startConfined(t, "trap '' TERM; "+waiting, nil, withStopTime+"=100ms")
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitForExit(t, r.cmd, 128+int(syscall.SIGKILL))
}

func waitForExit(t *testing.T, cmd *exec.Cmd, want int) {
	t.Helper()
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("it did not end")
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("exit code %d, want %d", got, want)
	}
}

func TestAServiceEndsWithMayflyJail(t *testing.T) {
	r := startConfined(t, waiting, nil)
	r.cmd.Process.Kill()
	r.cmd.Wait()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		status, err := os.ReadFile(string(r.program) + "/status")
		if err != nil || strings.Contains(string(status), "State:\tZ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the service is still alive")
		}
	}
}

func TestItEndsWithTheProcessThatStartedIt(t *testing.T) {
	host := confinement{Kind: kindHost, Program: "/usr/bin/sh", Argv: []string{"-c", waiting}, Folder: "/"}
	ignoring := service(t, "/usr/bin/sh", "-c", "trap '' TERM; "+waiting)
	for _, c := range []confinement{service(t, "/usr/bin/sh", "-c", waiting), ignoring, host} {
		c.EndWithParent = true
		document, _ := json.Marshal(c)
		file := filepath.Join(t.TempDir(), "confinement.json")
		if err := os.WriteFile(file, document, 0o600); err != nil {
			t.Fatal(err)
		}
		own, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		// A supervisor that is killed. Only mayfly-jail and the program hold the standard output that it leaves.
		supervisor := exec.Command("/usr/bin/sh", "-c", "exec 5<&0; "+own+" confine "+file+" <&5 & exec >/dev/null; wait")
		supervisor.Env = []string{asJail + "=1"}
		stdin, _ := supervisor.StdinPipe()
		stdout, _ := supervisor.StdoutPipe()
		if err := supervisor.Start(); err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(stdout)
		if line, _ := reader.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%s did not start: %q", c.Kind, line)
		}
		supervisor.Process.Kill()
		ended := make(chan bool)
		go func() { io.Copy(io.Discard, reader); ended <- true }()
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			t.Errorf("%s is still alive", c.Kind)
		}
		stdin.Close()
		supervisor.Wait()
	}
}

// The kernel sends no signal for a parent that ended before it was asked to.
func TestItDoesNotStartWithoutTheProcessThatStartedIt(t *testing.T) {
	script := []string{"-c", "echo ready"}
	host := confinement{Kind: kindHost, Program: "/usr/bin/sh", Argv: script, Folder: "/"}
	for _, c := range []confinement{service(t, "/usr/bin/sh", script...), host} {
		c.EndWithParent = true
		document, _ := json.Marshal(c)
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		own, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		supervisor := exec.Command("/usr/bin/sh", "-c", own+" confine 3 2>&1 & exec >/dev/null 2>&1; wait")
		supervisor.Env = []string{asJail + "=1"}
		supervisor.ExtraFiles = []*os.File{read}
		stdout, _ := supervisor.StdoutPipe()
		if err := supervisor.Start(); err != nil {
			t.Fatal(err)
		}
		// When mayfly-jail has read the first byte, it knows who started it.
		write.Write(document[:1])
		for unread := int32(1); unread > 0; time.Sleep(time.Millisecond) {
			syscall.Syscall(syscall.SYS_IOCTL, read.Fd(), syscall.TIOCINQ, uintptr(unsafe.Pointer(&unread)))
		}
		supervisor.Process.Kill()
		supervisor.Process.Wait()
		write.Write(document[1:])
		write.Close()
		read.Close()
		said, _ := io.ReadAll(stdout)
		if strings.Contains(string(said), "ready") || !strings.Contains(string(said), "the process that started it has ended") {
			t.Errorf("%s: %q", c.Kind, said)
		}
	}
}

func TestAContainerThatForbidsLandlockIsTolerated(t *testing.T) {
	cmd := confinedCommand(t, service(t, "/usr/bin/true"))
	cmd.Env = append(cmd.Env, withoutLandlock+"=1")
	said, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(said), "forbids Landlock") != 1 {
		t.Errorf("%v: %s", err, said)
	}
}

func TestTheExitCodeIsThatOfTheProgram(t *testing.T) {
	if _, _, code := confineAndRun(t, service(t, "/usr/bin/sh", "-c", "exit 3")); code != 3 {
		t.Errorf("code %d", code)
	}
}

func TestANewProcessCannotBeStarted(t *testing.T) {
	_, stderr, code := confineAndRun(t, service(t, "/usr/bin/sh", "-c", "(exit 0)"))
	if code == 0 || !strings.Contains(stderr, "Cannot fork") {
		t.Errorf("code %d, %q", code, stderr)
	}
}

func TestTheHostKeepsOnlyTheListedCapabilities(t *testing.T) {
	r := startConfined(t, waiting, func(c *confinement) {
		*c = confinement{Kind: kindHost, Capabilities: []string{"CHOWN", "NET_ADMIN"}, Program: c.Program, Argv: c.Argv, Folder: "/usr"}
	})
	bits, _ := capabilityBits([]string{"CHOWN", "NET_ADMIN"})
	kept, none := fmt.Sprintf("%016x", bits), "0000000000000000"
	for field, want := range map[string]string{
		"Uid": "0 0 0 0", "NoNewPrivs": "1", "CapBnd": kept, "CapEff": kept, "CapPrm": kept, "CapInh": none, "CapAmb": none,
	} {
		if got := r.program.status(t, field); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
	if cwd, _ := os.Readlink(string(r.program) + "/cwd"); cwd != "/usr" {
		t.Errorf("it runs in %s", cwd)
	}
}

func TestErrorsOfAConfinementNameTheStep(t *testing.T) {
	for want, change := range map[string]func(*confinement){
		"build the view: bind /nowhere: no such file or directory": func(c *confinement) { c.Binds = append(c.Binds, bind{Path: "/nowhere", Mode: "ro"}) },
		"enter the view: no such file or directory":                func(c *confinement) { c.Folder = "/nowhere" },
		"start /usr/bin/nothing: no such file or directory":        func(c *confinement) { c.Program = "/usr/bin/nothing" },
		"read the confinement: kind \"guest\" is neither":          func(c *confinement) { c.Kind = "guest" },
		"join the cgroups: /nowhere/cgroup.procs: no such file":    func(c *confinement) { c.CgroupProcs = []string{"/nowhere/cgroup.procs"} },
	} {
		c := service(t, "/usr/bin/true")
		change(&c)
		_, stderr, code := confineAndRun(t, c)
		if code != exitCode || !strings.Contains(stderr, "mayfly-jail: "+want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("code %d, %q, want %q", code, stderr, want)
		}
	}
}

func TestAServiceInheritsItsPrivilegedPorts(t *testing.T) {
	// Addresses of the loopback network that nobody else uses.
	ports := []port{{Name: "api", Address: "127.0.0.77", Port: 1011}, {Name: "previews", Address: "127.0.0.77", Port: 1012}}
	r := startConfined(t, "[ $LISTEN_FDS,$LISTEN_PID,$LISTEN_FDNAMES = 2,1,api:previews ] && echo ready; read line", func(c *confinement) { c.Listen = ports })
	for _, p := range ports {
		connection, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", p.Address, p.Port), 30*time.Second)
		if err != nil {
			t.Error(err)
			continue
		}
		connection.Close()
	}
	fds, _ := os.ReadDir(string(r.program) + "/fd")
	if len(fds) != 5 {
		t.Errorf("%d open files", len(fds))
	}
	c := service(t, "/usr/bin/true")
	c.Listen = ports[:1]
	_, stderr, code := confineAndRun(t, c)
	if code != exitCode || !strings.Contains(stderr, "listen: 127.0.0.77 port 1011: address already in use") {
		t.Errorf("code %d, %q", code, stderr)
	}
}

func TestAServiceGetsItsSocketsFromTheProcessThatHoldsThem(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sockets")
	ports := []port{
		{Name: "api", Address: "127.0.0.77"}, {Name: "api", Address: "127.0.0.78"}, {Name: "api", Address: "192.0.2.1", Optional: true},
		{Name: "previews", Address: "127.0.0.77"},
	}
	holder := startConfined(t, "", func(c *confinement) {
		c.Program, c.Argv, c.Env = program, []string{handOutMode}, map[string]string{asJail: "1"}
		c.Binds = append(c.Binds, bind{Path: program, Mode: "exec"})
		c.Listen, c.HandOut = ports, path
	})
	if seccomp, effective := holder.program.status(t, "Seccomp"), holder.program.status(t, "CapEff"); seccomp != "2" || effective != "0000000000000000" {
		t.Errorf("Seccomp %s, CapEff %s", seccomp, effective)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	for range 2 {
		r := startConfined(t, "[ $LISTEN_FDS,$LISTEN_PID,$LISTEN_FDNAMES = 3,1,api:api:previews ] && echo ready; read line", func(c *confinement) { c.ListenFrom = path })
		for _, fd := range []string{"3", "4", "5"} {
			held, _ := os.Readlink(string(holder.program) + "/fd/" + fd)
			if got, err := os.Readlink(string(r.program) + "/fd/" + fd); got != held || !strings.HasPrefix(got, "socket:") {
				t.Errorf("descriptor %s: %s, want %s (%v)", fd, got, held, err)
			}
		}
		if fds, _ := os.ReadDir(string(r.program) + "/fd"); len(fds) != 6 {
			t.Errorf("%d open files", len(fds))
		}
		r.cmd.Process.Kill()
	}
	holder.cmd.Process.Signal(syscall.SIGTERM)
	holder.cmd.Wait()
	c := service(t, "/usr/bin/true")
	c.ListenFrom = path
	if _, stderr, code := confineAndRun(t, c); code != exitCode || !strings.Contains(stderr, "listen: connect to "+path+": connection refused") {
		t.Errorf("code %d, %q", code, stderr)
	}
}
