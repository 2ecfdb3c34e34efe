// A hostile agent, for tests of how the host withstands one. It behaves like the real agent until it is switched to an attack mode: by an
// execution of `mayfly-hostile <mode>`, or by a mode that is written into the memory image from which it is restored.
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
		console.Log("agent failed", "error", serve())
		os.Exit(1)
	}
}
