// Package initsys is PID 1: it sets up the machine, restarts the agent when it ends and reaps orphaned processes.
package initsys

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"mayfly/agent/internal/console"
)

const (
	minRestartDelay = 100 * time.Millisecond
	maxRestartDelay = time.Second
	// An agent that ran this long is restarted after minRestartDelay again.
	stableAfter = 10 * time.Second
)

// Run never returns. A set-up step that fails is logged and skipped: a machine that lacks something is easier to debug than one that
// does not boot.
func Run() {
	runtime.LockOSThread() // no_new_privs applies per thread, and the agent is started from this one
	go catchSignals()
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"mounts", mountAll}, {"identity files", mountIdentityFiles}, {"sysctls", setSysctls}, {"network", configureNetwork}, {"rlimits", setRlimits},
		{"groups", makeGroups}, {"privileges", restrictPrivileges},
	} {
		if err := step.do(); err != nil {
			console.Log("init step failed", "step", step.name, "error", err)
		}
	}
	superviseAgent()
}

// catchSignals keeps signals from ending PID 1. They are caught, not ignored, because the agent would inherit ignored signals.
func catchSignals() {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGPIPE, syscall.SIGALRM, syscall.SIGXFSZ, syscall.SIGXCPU)
	for range c {
	}
}

// superviseAgent starts the agent, restarts it when it ends and reaps every other process.
func superviseAgent() {
	delay, started := minRestartDelay, time.Now()
	agent := startAgent()
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if err == syscall.EINTR || err == nil && pid != agent {
			continue
		}
		if err == nil {
			console.Log("agent ended", "exit", ws.ExitStatus(), "signal", ws.Signal())
		}
		if time.Since(started) > stableAfter {
			delay = minRestartDelay
		}
		time.Sleep(delay)
		delay = min(2*delay, maxRestartDelay)
		started = time.Now()
		agent = startAgent()
	}
}

// startAgent returns the pid of the agent, or 0 if it could not be started.
func startAgent() int {
	attr := &syscall.ProcAttr{Dir: "/", Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}}
	if fd, err := syscall.Open(agentGroup, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0); err == nil {
		defer syscall.Close(fd)
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"mayfly-agent", "agent"}, attr)
	if err != nil {
		console.Log("agent could not be started", "error", err)
		return 0
	}
	return pid
}
