package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// confinedMode is how this program starts itself in the new namespaces.
const confinedMode = "confined"

// The descriptors that the process in the new namespaces inherits, besides the standard streams.
const (
	// documentFd gives it the document.
	documentFd = 3
	// parentFd is a socket to its parent: each tells the other that it has no privileges any more.
	parentFd = 4
)

// confine runs one of Mayfly's own processes as a document says:
//
//	confine FILE           a file that only root can read
//	confine DESCRIPTOR     an inherited pipe or socket, for example 3
//
// The host process replaces this program. A service runs in a PID namespace, so it is a child: this program forwards stop signals to it, kills it
// if it ignores them, exits with its code (128 + signal if a signal ended it), and the service ends with it. Meanwhile it has the service's user and
// no privilege either.
func confine(arguments []string) error {
	starter := os.Getppid()
	if len(arguments) != 1 {
		return fmt.Errorf("one file or descriptor expected, not %d", len(arguments))
	}
	if os.Geteuid() != 0 {
		return errors.New("only root can confine a process")
	}
	document, err := readDocument(arguments[0])
	if err != nil {
		return fmt.Errorf("read the confinement: %w", err)
	}
	c, err := parseConfinement(document)
	if err != nil {
		return fmt.Errorf("read the confinement: %w", err)
	}
	// The host sets the mode of everything it makes itself; machines' users have to pass through some of its folders.
	if c.Kind == kindHost {
		syscall.Umask(0o022)
	} else {
		syscall.Umask(0o077)
	}
	if err := joinCgroups(&spec{CgroupProcs: c.CgroupProcs}); err != nil {
		return fmt.Errorf("join the cgroups: %w", err)
	}
	if err := limitConfined(c); err != nil {
		return fmt.Errorf("set the limits: %w", err)
	}
	if c.Kind == kindHost {
		return becomeHost(c, starter)
	}
	return runService(c, document, starter)
}

// limitConfined sets limits and the out-of-memory score. Root without CAP_SYS_RESOURCE, as in many containers, can lower neither the score nor
// raise a limit: the process then keeps what it inherits.
func limitConfined(c *confinement) error {
	limits := map[string]uint64{}
	for name, value := range c.Rlimits {
		var current syscall.Rlimit
		if err := syscall.Getrlimit(rlimits[name], &current); err != nil {
			return err
		}
		if err := syscall.Setrlimit(rlimits[name], &syscall.Rlimit{Cur: value, Max: value}); errors.Is(err, syscall.EPERM) {
			value = min(value, current.Max)
		}
		limits[name] = value
	}
	score := strconv.Itoa(c.OomScoreAdj)
	err := applyLimits(limits, score)
	if errors.Is(err, syscall.EACCES) {
		// The supervisor has warned of it at its start.
		inherited, readErr := os.ReadFile(oomScoreAdjPath)
		if readErr != nil {
			return readErr
		}
		return applyLimits(limits, string(bytes.TrimSpace(inherited)))
	}
	return err
}

// becomeHost drops all capabilities but the listed ones for good, and becomes the program. It returns only on failure.
func becomeHost(c *confinement, starter int) error {
	kept, err := capabilityBits(c.Capabilities)
	if err != nil {
		return err
	}
	held, err := permittedCapabilities()
	if err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if err := boundCapabilities(kept); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := prctl(prCapAmbient, prCapAmbientClearAll); err != nil {
		return fmt.Errorf("drop capabilities: ambient set: %w", err)
	}
	if err := leaveKeyring(); err != nil {
		return fmt.Errorf("drop capabilities: keyring: %w", err)
	}
	if err := setCapabilities(kept & held); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := prctl(prSetNoNewPrivs, 1); err != nil {
		return fmt.Errorf("drop capabilities: no new privileges: %w", err)
	}
	if err := c.endWithStarter(starter); err != nil {
		return err
	}
	if err := closeOthers(&spec{}); err != nil {
		return fmt.Errorf("close other files: %w", err)
	}
	if err := syscall.Chdir(c.Folder); err != nil {
		return fmt.Errorf("folder %s: %w", c.Folder, err)
	}
	return startProgram(c.jail())
}

// startProgram becomes the program of a specification. It returns only on failure.
func startProgram(s *spec) error {
	argv := append([]string{s.Program}, s.Argv...)
	return fmt.Errorf("start %s: %w", s.Program, syscall.Exec(s.Program, argv, s.environment()))
}

// runService starts the service in its own namespaces and session, and exits when the service does. It returns only if it could not be started.
func runService(c *confinement, document []byte, starter int) error {
	// From the beginning: a stop that arrives meanwhile is forwarded as soon as there is somebody to forward it to.
	stops := make(chan os.Signal, 8)
	signal.Notify(stops, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	// Otherwise the first copied line after the reader of root's output is gone, for example a restarted journal, would end this process, and with
	// it the service. Unlike an ignored signal, the service does not inherit this.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	documentEnd, writeDocument, err := os.Pipe()
	if err != nil {
		return err
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	own, childs := os.NewFile(uintptr(pair[0]), "child"), os.NewFile(uintptr(pair[1]), "parent")
	child := exec.Command("/proc/self/exe", confinedMode)
	if stdin := input(); stdin != nil {
		child.Stdin = stdin
	}
	child.Stdout, child.Stderr = outputs()
	child.WaitDelay = lastOutputTime
	child.ExtraFiles = []*os.File{documentEnd, childs}
	child.Env = []string{}
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Setsid:     true,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := child.Start(); err != nil {
		return fmt.Errorf("leave the host's namespaces: %w", err)
	}
	documentEnd.Close()
	childs.Close()
	if _, err := writeDocument.Write(document); err == nil {
		writeDocument.Close()
	}
	if _, err := io.ReadFull(own, make([]byte, 1)); err == nil {
		if err := becomeUnprivileged(c, starter); err != nil {
			child.Process.Kill()
			return fmt.Errorf("drop all privileges: %w", err)
		}
		own.Write([]byte{1})
	}
	own.Close()
	debug.SetGCPercent(100)
	go func() {
		for signal := range stops {
			if c.EndWithParent && os.Getppid() != starter {
				child.Process.Kill()
				continue
			}
			child.Process.Signal(effective(child.Process.Pid, signal.(syscall.Signal)))
			time.AfterFunc(stopTime, func() { child.Process.Kill() })
		}
	}()
	child.Wait()
	exitLike(child.ProcessState.Sys().(syscall.WaitStatus))
	return nil
}

// stopTime is how long a service may take to end after a stop signal. The supervisor kills it earlier, if it can.
var stopTime = 70 * time.Second

// lastOutputTime is how long the last output of a service that ended may take to be copied.
const lastOutputTime = 5 * time.Second

// effective is the signal that does to the first process of a PID namespace what this one does to any other: the kernel drops signals that
// such a process does not handle, for example while Node starts.
func effective(pid int, stop syscall.Signal) syscall.Signal {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err == nil && !handles(string(status), stop) {
		return syscall.SIGKILL
	}
	return stop
}

// handles reads from /proc/PID/status whether a process catches or ignores a signal.
func handles(status string, stop syscall.Signal) bool {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if name != "SigCgt" && name != "SigIgn" {
			continue
		}
		if set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64); err != nil || set&(1<<(stop-1)) != 0 {
			return true
		}
	}
	return false
}

// becomeUnprivileged gives all threads of this process the service's user, which may signal the service, and no capability.
func becomeUnprivileged(c *confinement, starter int) error {
	for capability := range uintptr(highestCapability + 1) {
		if _, _, errno := syscall.AllThreadsSyscall6(syscall.SYS_PRCTL, prCapbsetDrop, capability, 0, 0, 0, 0); errno == syscall.EINVAL {
			break
		} else if errno != 0 {
			return errno
		}
	}
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setresgid(int(c.GID), int(c.GID), int(c.GID)), syscall.Setresuid(int(c.UID), int(c.UID), int(c.UID))); err != nil {
		return err
	}
	if _, _, errno := syscall.AllThreadsSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return c.endWithStarter(starter)
}

// endWithStarter has the kernel send SIGTERM when the process that started this one ends, if the document says so. It fails if that has happened.
func (c *confinement) endWithStarter(starter int) error {
	if !c.EndWithParent {
		return nil
	}
	if err := endWithParent(syscall.SIGTERM); err != nil {
		return err
	}
	if os.Getppid() != starter {
		return errors.New("the process that started it has ended")
	}
	return nil
}

// endWithParent has the kernel send a signal when the parent ends. A change of user would undo it, so it comes after that.
func endWithParent(sent syscall.Signal) error {
	return prctl(syscall.PR_SET_PDEATHSIG, uintptr(sent))
}

// exitLike ends this process as its child ended.
func exitLike(status syscall.WaitStatus) {
	if status.Signaled() {
		fmt.Fprintf(os.Stderr, "mayfly-jail: the program was ended by signal %d (%s)\n", status.Signal(), status.Signal())
		os.Exit(128 + int(status.Signal()))
	}
	os.Exit(status.ExitStatus())
}
