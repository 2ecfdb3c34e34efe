// An agent that is the real one until it is told to turn on its host: for tests of what the host holds out.
// An execution of `mayfly-hostile <mode>` tells it, or a mode written into the memory image it is restored from.
package main

import (
	"os"

	"mayfly/agent/internal/console"
	"mayfly/agent/internal/initramfs"
	"mayfly/agent/internal/initsys"
	"mayfly/agent/internal/power"
)

func main() {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch {
	case os.Getpid() == 1 && role != "init":
		err := initramfs.Run()
		console.Redirect()
		console.Fatal("cannot start the machine", "error", err)
		power.Off()
	case role == "init":
		console.Redirect()
		initsys.Run()
	default:
		console.Log("agent cannot go on", "error", serve())
		os.Exit(1)
	}
}
