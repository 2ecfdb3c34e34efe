package main

import (
	"os"
	"strconv"
)

// joinCgroups moves the whole process into the groups whose cgroup.procs files are given.
func joinCgroups(s *spec) error {
	pid := strconv.Itoa(os.Getpid())
	for _, path := range s.CgroupProcs {
		if err := writeFile(path, pid); err != nil {
			return err
		}
	}
	return nil
}
