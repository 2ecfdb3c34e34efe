package main

import (
	"fmt"
	"syscall"
)

const rlimitMemlock = 8

var rlimits = map[string]int{
	"core":    syscall.RLIMIT_CORE,
	"fsize":   syscall.RLIMIT_FSIZE,
	"memlock": rlimitMemlock,
	"nofile":  syscall.RLIMIT_NOFILE,
}

// coredumpFilter says which memory a core dump holds; it stays across the start of a program.
const coredumpFilter = "/proc/self/coredump_filter"

// setLimits sets the soft and hard limits that are given. Nothing of the program's memory is ever dumped: a host that pipes
// core files to a handler does so whatever the limit is.
func setLimits(s *spec) error {
	if err := writeFile(coredumpFilter, "0"); err != nil {
		return err
	}
	limits := map[string]uint64{"core": 0}
	for name, value := range s.Rlimits {
		limits[name] = value
	}
	for name, value := range limits {
		resource, known := rlimits[name]
		if !known {
			return fmt.Errorf("unknown limit %q", name)
		}
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("%s %d: %w", name, value, err)
		}
	}
	return nil
}
