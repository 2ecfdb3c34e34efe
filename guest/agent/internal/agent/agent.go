// Package agent is the process that serves the host.
package agent

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"mayfly/agent/internal/attach"
	"mayfly/agent/internal/cgroup"
	"mayfly/agent/internal/console"
	"mayfly/agent/internal/execution"
	"mayfly/agent/internal/expiry"
	"mayfly/agent/internal/identity"
	"mayfly/agent/internal/initsys"
	"mayfly/agent/internal/port"
	"mayfly/agent/internal/power"
	"mayfly/agent/internal/routes"
	"mayfly/agent/internal/shell"
	"mayfly/agent/internal/stats"
	"mayfly/agent/internal/terminal"
)

const (
	portTimeout = 30 * time.Second
	mib         = 1 << 20
)

// Run serves the host until a port fails. Init then restarts the agent.
func Run(version string) error {
	catchSignals()
	if err := shell.OpenOOMScore(); err != nil {
		console.Log("not exempt from the OOM killer", "error", err)
	}
	captureBytes := captureBudget(stats.MemoryTotal())
	debug.SetMemoryLimit(captureBytes + 64*mib)
	control, err := port.Open("mayfly.control", portTimeout)
	if err != nil {
		return err
	}
	data, err := port.Open("mayfly.data", portTimeout)
	if err != nil {
		return err
	}
	tree := userTree()
	terminals := &terminal.Table{Tree: tree}
	var watch expiry.Watch
	handler := (&routes.Agent{
		Version:    version,
		UserGroup:  initsys.UserGroup,
		Executions: &execution.Table{Tree: tree, Budget: execution.NewBudget(captureBytes)},
		Terminals:  terminals,
		Machine:    identity.Kernel{},
		SetExpiry:  watch.Set,
	}).Handler()
	server := &attach.Server{Control: control, Data: data, Handler: handler}
	go watch.Run(context.Background(), server.Connected, power.Off)
	go func() {
		for range time.Tick(time.Minute) {
			terminals.EndIdle()
		}
	}()
	return server.Run(context.Background())
}

// captureBudget is the memory that captured output may use, in bytes.
func captureBudget(total int64) int64 { return min(max(total/8, 16*mib), 96*mib) }

// userTree returns the user's cgroup tree, or an empty one if init could not create it.
func userTree() *cgroup.Tree {
	if _, err := os.Stat(initsys.UserGroup + "/cgroup.procs"); err != nil {
		console.Log("cgroups are not available", "error", err)
		return &cgroup.Tree{}
	}
	return cgroup.Open(initsys.UserGroup)
}

// catchSignals keeps signals from ending the agent. SIGXFSZ is sent when an upload reaches the file size limit; the write then
// fails as it should. The signals are caught, not ignored, because the user's processes would inherit ignored signals.
func catchSignals() {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGXFSZ, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGPIPE)
	go func() {
		for range c {
		}
	}()
}
