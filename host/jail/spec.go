package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// spec says what the jail of one program is; packages/server/src/machines/qemu/jail/spec.ts writes it.
type spec struct {
	// UID and GID are the program's own, never 0.
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
	// CgroupProcs are the cgroup.procs files of the groups to join.
	CgroupProcs []string `json:"cgroupProcs"`
	// Network is "none" (an empty namespace), "host", or the path of a network namespace.
	Network string `json:"network"`
	// Listen are unix sockets, root's alone, that the program gets as listening descriptors.
	Listen []listener `json:"listen"`
	// Binds are all that the program sees of the host's files.
	Binds []bind `json:"binds"`
	// Devices are names under /dev that exist in the jail.
	Devices []string `json:"devices"`
	// Rlimits are soft and hard limits by name; see limits.go.
	Rlimits map[string]uint64 `json:"rlimits"`
	// KeepFds are inherited descriptors above 2 that stay open, besides those of Listen.
	KeepFds []int `json:"keepFds"`
	// Program is started with Argv after its own path.
	Program string   `json:"program"`
	Argv    []string `json:"argv"`
	// Env is the program's whole environment; nothing is inherited.
	Env map[string]string `json:"env"`
}

type listener struct {
	Path string `json:"path"`
	Fd   int    `json:"fd"`
}

// bind shows one file or folder of the host at the same path in the jail.
type bind struct {
	Path string `json:"path"`
	// Mode is "ro", "rw", or "exec": read-only, and programs and libraries in it may be run.
	Mode string `json:"mode"`
	// Optional binds may be missing on the host.
	Optional bool `json:"optional"`
}

// readSpec takes the JSON document from the argument, or from the file it names.
func readSpec(arguments []string) (*spec, error) {
	if len(arguments) != 1 {
		return nil, fmt.Errorf("one argument expected, not %d", len(arguments))
	}
	text := []byte(arguments[0])
	if path, ok := strings.CutPrefix(arguments[0], "@"); ok {
		var err error
		if text, err = readFile(path); err != nil {
			return nil, err
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	s := &spec{}
	if err := decoder.Decode(s); err != nil {
		return nil, err
	}
	return s, s.check()
}

// check refuses what would be no jail, or one that cannot be built.
func (s *spec) check() error {
	if s.UID == 0 || s.GID == 0 || s.UID == ^uint32(0) || s.GID == ^uint32(0) {
		return errors.New("uid and gid must be those of nobody else, never root's")
	}
	if s.Network != "none" && s.Network != "host" && !isPlain(s.Network) {
		return fmt.Errorf("network %q is neither none, host nor an absolute path", s.Network)
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
		if top, _, _ := strings.Cut(b.Path[min(1, len(b.Path)):], "/"); slices.Contains([]string{"", "proc", "sys", "dev"}, top) {
			return fmt.Errorf("%q may not be in a jail", b.Path)
		}
	}
	for _, path := range paths {
		if !isPlain(path) {
			return fmt.Errorf("%q is not a plain absolute path", path)
		}
	}
	return s.checkDescriptors()
}

// checkDescriptors refuses descriptor numbers that would overwrite another.
func (s *spec) checkDescriptors() error {
	seen := map[int]bool{}
	for _, fd := range s.keptFds() {
		if fd < 3 || fd >= firstOwnFd || seen[fd] {
			return fmt.Errorf("descriptor %d is taken or not between 3 and %d", fd, firstOwnFd-1)
		}
		seen[fd] = true
	}
	return nil
}

// keptFds are the descriptors above 2 that the program gets.
func (s *spec) keptFds() []int {
	fds := slices.Clone(s.KeepFds)
	for _, l := range s.Listen {
		fds = append(fds, l.Fd)
	}
	slices.Sort(fds)
	return fds
}

// environment is Env as a program gets it.
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
