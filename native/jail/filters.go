package main

import "mayfly/seccomp"

// filters are the allow-lists of system calls, by the program that runs under them.
var filters = map[string]func() seccomp.Program{"qemu": seccomp.QEMU, "service": seccomp.Service}

// filterSystemCalls puts the filter of the specification into force. What follows may make only its calls.
func filterSystemCalls(s *spec) error {
	if s.Filter == "" {
		return nil
	}
	return filters[s.Filter]().InstallOnThread()
}
