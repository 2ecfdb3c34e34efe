// Command mayfly-jail enters a jail and becomes another program there, with the same process id and without any privileges.
// It is started as root with one argument, a JSON document. With the argument "confine" it confines one of Mayfly's own processes instead
// (confine.go), with "kill" it kills processes (kill.go), and with "hand-out" it holds the listening sockets of a service (handout.go).
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
)

// exitCode means that the program was not started. QEMU itself never exits with it.
const exitCode = 111

// Namespaces, privileges and the working directory belong to a thread, so everything happens on the first one.
func init() { runtime.LockOSThread() }

func main() {
	debug.SetGCPercent(-1)
	run, arguments := enter, os.Args[1:]
	modes := map[string]func([]string) error{"confine": confine, confinedMode: enterConfinement, "kill": kill, handOutMode: handOut}
	if len(arguments) > 0 && modes[arguments[0]] != nil {
		run, arguments = modes[arguments[0]], arguments[1:]
	}
	if err := run(arguments); err != nil {
		fmt.Fprintf(os.Stderr, "mayfly-jail: %v\n", err)
		os.Exit(exitCode)
	}
}

// step is one part of building the jail. Errors begin with its name.
type step struct {
	name string
	do   func(*spec) error
}

// steps are ordered by what they need: the host's files first, then root's privileges.
var steps = []step{
	{"join the cgroups", joinCgroups},
	{"set the limits", setLimits},
	{"listen on the sockets", openListeners},
	{"leave the host's namespaces", leaveNamespaces},
	{"build the root", buildRoot},
	{"enter the root", enterRoot},
	{"drop all privileges", dropPrivileges},
	{"close other files", closeOthers},
	{"filter system calls", filterSystemCalls},
}

// enter builds the jail and starts the program. It returns only on failure.
func enter(arguments []string) error {
	s, err := readSpec(arguments)
	if err != nil {
		return fmt.Errorf("read the specification: %w", err)
	}
	syscall.Umask(0o077)
	for _, step := range steps {
		if err := step.do(s); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return startProgram(s)
}
