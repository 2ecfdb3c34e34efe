// Package initsys is PID 1: it sets the machine up, keeps the agent running and reaps orphans.
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
	firstPause = 100 * time.Millisecond
	lastPause  = time.Second
	// settled is how long an agent must have run for its end to count as a first one.
	settled = 10 * time.Second
)

// Run never returns. What fails of the set-up is told on the console: a machine that lacks something is easier to look
// into than one that does not come up.
func Run() {
	runtime.LockOSThread() // no_new_privs and the like are the thread's, and the agent is started from this one
	go ignoreSignals()
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"mounts", mountAll}, {"names", mountNames}, {"sysctls", setSysctls}, {"network", configureNetwork}, {"limits", setLimits},
		{"groups", makeGroups}, {"privileges", shed},
	} {
		if err := step.do(); err != nil {
			console.Log("init step failed", "step", step.name, "error", err)
		}
	}
	keepAgent()
}

// ignoreSignals catches what could end PID 1; caught signals are not passed on to the agent, ignored ones would be.
func ignoreSignals() {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGPIPE, syscall.SIGALRM, syscall.SIGXFSZ, syscall.SIGXCPU)
	for range c {
	}
}

// keepAgent starts the agent, reaps every process that ends, and starts the agent again when it was that.
func keepAgent() {
	pause, started := firstPause, time.Now()
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
		if time.Since(started) > settled {
			pause = firstPause
		}
		time.Sleep(pause)
		pause = min(2*pause, lastPause)
		started = time.Now()
		agent = startAgent()
	}
}

// startAgent returns the agent's pid, or 0 when it could not be started.
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
