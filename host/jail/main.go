// Command mayfly-jail puts itself into a jail and becomes another program there: same process id, no right left.
// It is started as root with one argument: a JSON document, or @ and the path of a file that holds one.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
)

// exitCode says that the program was never started; QEMU itself never ends with it.
const exitCode = 111

// Namespaces, rights and the working directory belong to a thread: everything happens on the first one.
func init() { runtime.LockOSThread() }

func main() {
	debug.SetGCPercent(-1)
	if err := enter(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "mayfly-jail: %v\n", err)
		os.Exit(exitCode)
	}
}

// step is one part of building the jail; its name is what an error begins with.
type step struct {
	name string
	do   func(*spec) error
}

// steps are in the only order that works: what needs the host's files first, what needs root's rights before they go.
var steps = []step{
	{"join the cgroups", joinCgroups},
	{"set the limits", setLimits},
	{"listen on the sockets", openListeners},
	{"leave the host's namespaces", leaveNamespaces},
	{"build the root", buildRoot},
	{"enter the root", enterRoot},
	{"give up all rights", dropRights},
	{"close other files", closeOthers},
}

// enter builds the jail and does not return when the program is started.
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
	argv := append([]string{s.Program}, s.Argv...)
	return fmt.Errorf("start %s: %w", s.Program, syscall.Exec(s.Program, argv, s.environment()))
}
