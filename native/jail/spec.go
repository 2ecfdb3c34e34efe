package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// spec describes the jail of one program. packages/server/src/machines/qemu/jail/spec.ts writes it.
type spec struct {
	// UID and GID are those the program runs under; never 0.
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
	// CgroupProcs are the cgroup.procs files of the groups to join.
	CgroupProcs []string `json:"cgroupProcs"`
	// Network is "none" (an empty namespace), "host", or the path of a network namespace.
	Network string `json:"network"`
	// Listen are unix sockets that only root can connect to. The program inherits them as listening descriptors.
	Listen []listener `json:"listen"`
	// Binds are the only files of the host that the program sees.
	Binds []bind `json:"binds"`
	// Devices are names under /dev that exist in the jail.
	Devices []string `json:"devices"`
	// Rlimits are soft and hard limits by name; see limits.go.
	Rlimits map[string]uint64 `json:"rlimits"`
	// Filter names the system calls that the program may make; see filters.go. Without one it may make all, and limits itself.
	Filter string `json:"filter"`
	// Program is started with its own path followed by Argv.
	Program string   `json:"program"`
	Argv    []string `json:"argv"`
	// Env is the whole environment; nothing is inherited.
	Env map[string]string `json:"env"`
}

type listener struct {
	Path string `json:"path"`
	Fd   int    `json:"fd"`
}

// bind shows one file or folder of the host at the same path in the jail.
type bind struct {
	Path string `json:"path"`
	// Mode is "ro", "rw" or "exec". Exec is read-only and lets programs and libraries run.
	Mode string `json:"mode"`
	// Optional binds are skipped when the host does not have them.
	Optional bool `json:"optional"`
}

// readSpec parses the JSON document in the only argument.
func readSpec(arguments []string) (*spec, error) {
	if len(arguments) != 1 {
		return nil, fmt.Errorf("one argument expected, not %d", len(arguments))
	}
	decoder := json.NewDecoder(strings.NewReader(arguments[0]))
	decoder.DisallowUnknownFields()
	s := &spec{}
	if err := decoder.Decode(s); err != nil {
		return nil, err
	}
	return s, s.check()
}

// overcommitPath is the only file of /proc that a jail may contain, read-only. QEMU reads it before it maps memory without reserving it.
const overcommitPath = "/proc/sys/vm/overcommit_memory"

// check rejects specifications that are unsafe or cannot be built.
func (s *spec) check() error {
	if s.UID == 0 || s.GID == 0 || s.UID == ^uint32(0) || s.GID == ^uint32(0) {
		return errors.New("uid and gid must not be root's")
	}
	if s.Network != "none" && s.Network != "host" && !isPlain(s.Network) {
		return fmt.Errorf("network %q is neither none, host nor an absolute path", s.Network)
	}
	if s.Filter != "" && filters[s.Filter] == nil {
		return fmt.Errorf("unknown filter %q", s.Filter)
	}
	paths := append([]string{s.Program}, s.CgroupProcs...)
	for _, l := range s.Listen {
		paths = append(paths, l.Path)
	}
	for _, b := range s.Binds {
		paths = append(paths, b.Path)
		if b.Mode != "ro" && b.Mode != "rw" && b.Mode != "exec" {
			return fmt.Errorf("mode %q of %s", b.Mode, b.Path)
		}
		if b.Path == overcommitPath && b.Mode == "ro" {
			continue
		}
		if top, _, _ := strings.Cut(b.Path[min(1, len(b.Path)):], "/"); slices.Contains([]string{"", "proc", "sys", "dev"}, top) {
			return fmt.Errorf("%q is not allowed in a jail", b.Path)
		}
	}
	for _, path := range paths {
		if !isPlain(path) {
			return fmt.Errorf("%q is not a plain absolute path", path)
		}
	}
	return s.checkDescriptors()
}

// checkDescriptors rejects descriptor numbers that are reserved or used twice.
func (s *spec) checkDescriptors() error {
	seen := map[int]bool{}
	for _, fd := range s.listenFds() {
		if fd < 3 || fd >= firstOwnFd || seen[fd] {
			return fmt.Errorf("descriptor %d is taken or not between 3 and %d", fd, firstOwnFd-1)
		}
		seen[fd] = true
	}
	return nil
}

// listenFds are the descriptors above 2 that the program inherits, in ascending order.
func (s *spec) listenFds() []int {
	fds := []int{}
	for _, l := range s.Listen {
		fds = append(fds, l.Fd)
	}
	slices.Sort(fds)
	return fds
}

// environment returns Env in the form that exec expects.
func (s *spec) environment() []string {
	lines := []string{}
	for name, value := range s.Env {
		lines = append(lines, name+"="+value)
	}
	slices.Sort(lines)
	return lines
}

func isPlain(path string) bool {
	return filepath.IsAbs(path) && filepath.Clean(path) == path && !strings.ContainsRune(path, 0)
}
