// The guest side of Mayfly in one program: the initramfs stage, init (PID 1) and the agent that serves the host.
package main

import (
	"os"

	"mayfly/agent/internal/agent"
	"mayfly/agent/internal/console"
	"mayfly/agent/internal/initramfs"
	"mayfly/agent/internal/initsys"
	"mayfly/agent/internal/power"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = "dev"

func main() {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	isPID1 := os.Getpid() == 1
	switch {
	case isPID1 && role != "init" && initramfs.Present():
		err := initramfs.Run()
		console.Redirect()
		console.Fatal("cannot start the machine", "error", err)
		power.Off()
	case isPID1 && role == "init":
		console.Redirect()
		initsys.Run()
	case role == "agent":
		err := agent.Run(version)
		console.Log("agent failed", "error", err)
		os.Exit(1)
	default:
		os.Stderr.WriteString("mayfly agent " + version + ": runs as /init of an initramfs, as PID 1 (init) or as its child (agent)\n")
		os.Exit(2)
	}
}
