// Package agent is the process that answers the host.
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
	"mayfly/agent/internal/figures"
	"mayfly/agent/internal/identity"
	"mayfly/agent/internal/initsys"
	"mayfly/agent/internal/port"
	"mayfly/agent/internal/power"
	"mayfly/agent/internal/routes"
	"mayfly/agent/internal/shell"
	"mayfly/agent/internal/terminal"
)

const (
	portTimeout = 30 * time.Second
	mib         = 1 << 20
)

// Run serves the host until a port fails; init starts the agent again then.
func Run(version string) error {
	absorbSignals()
	if err := shell.Shield(); err != nil {
		console.Log("not shielded from the OOM killer", "error", err)
	}
	kept := captureBudget(figures.MemoryTotal())
	debug.SetMemoryLimit(kept + 64*mib)
	control, err := port.Open("mayfly.control", portTimeout)
	if err != nil {
		return err
	}
	data, err := port.Open("mayfly.data", portTimeout)
	if err != nil {
		return err
	}
	tree := userTree()
	var watch expiry.Watch
	handler := (&routes.Agent{
		Version:    version,
		UserGroup:  initsys.UserGroup,
		Executions: &execution.Table{Tree: tree, Budget: execution.NewBudget(kept)},
		Terminals:  &terminal.Table{Tree: tree},
		Machine:    identity.Kernel{},
		SetExpiry:  watch.Set,
		PowerOff:   power.Off,
	}).Handler()
	server := &attach.Server{Control: control, Data: data, Handler: handler}
	go watch.Run(context.Background(), server.Connected, power.Off)
	return server.Run(context.Background())
}

// captureBudget is how much kept output may take of the machine's memory.
func captureBudget(total int64) int64 { return min(max(total/8, 16*mib), 96*mib) }

// userTree is the user's control group, where init could make one.
func userTree() *cgroup.Tree {
	if _, err := os.Stat(initsys.UserGroup + "/cgroup.procs"); err != nil {
		console.Log("no control groups", "error", err)
		return &cgroup.Tree{}
	}
	return cgroup.Open(initsys.UserGroup)
}

// absorbSignals survives what would end a Go program. SIGXFSZ comes when an upload reaches the limit of a file's size, the
// write then fails as it should. Caught rather than ignored, because what is ignored stays ignored in the user's processes.
func absorbSignals() {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGXFSZ, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGPIPE)
	go func() {
		for range c {
		}
	}()
}
