package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
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

const rlimitMemlock = 8

var rlimits = map[string]int{
	"core":    syscall.RLIMIT_CORE,
	"fsize":   syscall.RLIMIT_FSIZE,
	"memlock": rlimitMemlock,
	"nofile":  syscall.RLIMIT_NOFILE,
}

// coredumpFilter selects the memory that a core dump contains. The setting survives exec.
const coredumpFilter = "/proc/self/coredump_filter"

const oomScoreAdjPath = "/proc/self/oom_score_adj"

// oomScoreAdj makes the program a preferred victim when the host runs out of memory. It replaces the value that the program would
// inherit from the host process, which is protected. The setting survives exec.
const oomScoreAdj = "500"

// setLimits sets the limits of a machine's QEMU.
func setLimits(s *spec) error { return applyLimits(s.Rlimits, oomScoreAdj) }

// applyLimits sets the given soft and hard limits. It also excludes all memory from core dumps, because a host that pipes core
// dumps to a handler ignores the size limit. A write beyond the file size limit fails with EFBIG instead of ending the program:
// QEMU reports it to the guest as an I/O error. An ignored signal stays ignored after exec.
func applyLimits(given map[string]uint64, oomScore string) error {
	if err := writeFile(coredumpFilter, "0"); err != nil {
		return err
	}
	if err := writeFile(oomScoreAdjPath, oomScore); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	limits := map[string]uint64{"core": 0}
	for name, value := range given {
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

// writeFile writes an existing control file in one call. It uses plain system calls, because Go's own files would occupy a
// low descriptor for their poller, and the low descriptors belong to the program.
func writeFile(path, text string) error {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer syscall.Close(fd)
	if _, err := syscall.Write(fd, []byte(text)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
