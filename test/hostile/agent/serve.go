package main

import (
	"context"
	"os"
	"time"

	"mayfly/agent/internal/attach"
	"mayfly/agent/internal/cgroup"
	"mayfly/agent/internal/execution"
	"mayfly/agent/internal/identity"
	"mayfly/agent/internal/initsys"
	"mayfly/agent/internal/port"
	"mayfly/agent/internal/routes"
	"mayfly/agent/internal/terminal"
)

const portTimeout = 30 * time.Second

// crashFile makes every agent that init restarts exit at the first byte it reads.
const crashFile = "/run/mayfly-hostile-crash"

// serve runs the real agent on ports that can be taken away from it.
func serve() error {
	slot := newModeSlot()
	control, err := port.Open("mayfly.control", portTimeout)
	if err != nil {
		return err
	}
	data, err := port.Open("mayfly.data", portTimeout)
	if err != nil {
		return err
	}
	if _, err := os.Stat(crashFile); err == nil {
		exitAtFirstByte(control)
	}
	gates := &pair{control: newGate(control), data: newGate(data)}
	gates.control.onRead = func() {
		if mode := slot.mode(); mode != "" {
			gates.takeOver(mode)
			select {}
		}
	}
	tree := cgroup.Open(initsys.UserGroup)
	handler := (&routes.Agent{
		Version:    "hostile",
		UserGroup:  initsys.UserGroup,
		Executions: &execution.Table{Tree: tree, Budget: execution.NewBudget(64 << 20)},
		Terminals:  &terminal.Table{Tree: tree},
		Machine:    identity.Kernel{},
		SetExpiry:  func(int64) {},
	}).Handler()
	server := &attach.Server{Control: gates.control, Data: gates.data, Handler: intercept(handler, gates)}
	return server.Run(context.Background())
}

func exitAtFirstByte(control *port.Device) {
	one := make([]byte, 1)
	for {
		if n, _ := control.Read(one); n > 0 {
			os.Exit(3)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
