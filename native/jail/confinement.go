package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// confinement describes how one of Mayfly's own processes runs. packages/server/src/confinement/spec.ts writes it.
type confinement struct {
	// Kind is "service" (no privilege at all, its own view of the file system) or "host", the host process (root with the listed capabilities).
	Kind string `json:"kind"`
	// UID and GID are those of a service; absent for the host process.
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
	// Capabilities are those that the host process keeps, as names without "CAP_"; absent for a service.
	Capabilities []string `json:"capabilities"`
	// Binds are the only files that a service sees, besides /dev, /proc and /tmp of its own; absent for the host process.
	Binds []bind `json:"binds"`
	// TmpBytes is the size of a service's own /tmp, in memory.
	TmpBytes uint64 `json:"tmpBytes"`
	// Listen are TCP ports that a service gets as listening sockets; see ports.go.
	Listen []port `json:"listen"`
	// HandOut is the path of a unix socket, which it gets as the last of its sockets, to hand the others out on; see handout.go. Empty for none.
	HandOut string `json:"handOut"`
	// ListenFrom is the path of such a socket, from which a service gets its sockets instead of opening them. Empty for none.
	ListenFrom string `json:"listenFrom"`
	// passed are the names of the sockets that the program inherits, once they are there.
	passed []string
	// CgroupProcs are the cgroup.procs files of the groups to join.
	CgroupProcs []string `json:"cgroupProcs"`
	// OomScoreAdj is from -1000 (never killed when memory runs out) to 1000 (killed first).
	OomScoreAdj int `json:"oomScoreAdj"`
	// Rlimits are soft and hard limits by name; see limits.go.
	Rlimits map[string]uint64 `json:"rlimits"`
	// EndWithParent ends the program with the process that started mayfly-jail: the host process gets SIGTERM, a service is killed.
	EndWithParent bool `json:"endWithParent"`
	// Program is started in Folder with its own path followed by Argv.
	Program string   `json:"program"`
	Argv    []string `json:"argv"`
	Folder  string   `json:"folder"`
	// Env is the whole environment; nothing is inherited.
	Env map[string]string `json:"env"`
}

const (
	kindService = "service"
	kindHost    = "host"
)

// maxDocumentBytes is far above what Mayfly writes.
const maxDocumentBytes = 256 * 1024

// maxBinds keeps the folders of a view below the limit of its file system; see rootOptions.
const maxBinds = 48

const (
	minTmpBytes = 1 << 20
	maxTmpBytes = 1 << 30
)

// serviceDevices are all devices of a service.
var serviceDevices = []string{"null", "zero", "full", "random", "urandom"}

var environmentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readDocument reads a file that only root can have written, or an inherited pipe or socket that is given by its number. It may contain secrets.
func readDocument(source string) ([]byte, error) {
	if fd, err := strconv.Atoi(source); err == nil && fd > 2 && fd < firstOwnFd {
		return readLimited(os.NewFile(uintptr(fd), "document"))
	}
	if !isPlain(source) {
		return nil, fmt.Errorf("%q is neither an absolute path nor a descriptor", source)
	}
	file, err := os.OpenFile(source, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var info syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &info); err != nil {
		return nil, err
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFREG || int(info.Uid) != os.Geteuid() || info.Mode&0o077 != 0 {
		return nil, fmt.Errorf("%s is open to other users or no file: it must belong to root, with mode 0600", source)
	}
	return readLimited(file)
}

func readLimited(from io.Reader) ([]byte, error) {
	document, err := io.ReadAll(io.LimitReader(from, maxDocumentBytes+1))
	if err == nil && len(document) > maxDocumentBytes {
		err = fmt.Errorf("longer than %d bytes", maxDocumentBytes)
	}
	return document, err
}

// parseConfinement accepts exactly one JSON object with known fields.
func parseConfinement(document []byte) (*confinement, error) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	c := &confinement{}
	if err := decoder.Decode(c); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the document")
	}
	return c, c.check()
}

// check rejects confinements that are unsafe or cannot be built.
func (c *confinement) check() error {
	if err := c.checkKind(); err != nil {
		return err
	}
	for _, path := range append([]string{c.Program, c.Folder}, c.CgroupProcs...) {
		if !isPlain(path) {
			return fmt.Errorf("%q is not a plain absolute path", path)
		}
	}
	for _, path := range c.CgroupProcs {
		if filepath.Base(path) != "cgroup.procs" {
			return fmt.Errorf("%q is not a cgroup.procs file", path)
		}
	}
	if c.OomScoreAdj < -1000 || c.OomScoreAdj > 1000 {
		return fmt.Errorf("oomScoreAdj %d is not from -1000 to 1000", c.OomScoreAdj)
	}
	for name := range c.Rlimits {
		if _, known := rlimits[name]; !known {
			return fmt.Errorf("unknown limit %q", name)
		}
	}
	for _, text := range c.Argv {
		if strings.ContainsRune(text, 0) {
			return errors.New("NUL in argv")
		}
	}
	for name, value := range c.Env {
		if !environmentName.MatchString(name) || strings.ContainsRune(value, 0) {
			return fmt.Errorf("environment variable %q", name)
		}
	}
	return nil
}

func (c *confinement) checkKind() error {
	switch c.Kind {
	case kindService:
		if len(c.Capabilities) > 0 {
			return errors.New("a service has no capabilities")
		}
		if c.TmpBytes < minTmpBytes || c.TmpBytes > maxTmpBytes {
			return fmt.Errorf("tmpBytes %d is not from %d to %d", c.TmpBytes, minTmpBytes, maxTmpBytes)
		}
		if len(c.Binds) > maxBinds {
			return fmt.Errorf("%d binds, at most %d are possible", len(c.Binds), maxBinds)
		}
		for _, b := range c.Binds {
			if b.Path == overcommitPath || b.Path == "/tmp" {
				return fmt.Errorf("%q is not allowed in a view", b.Path)
			}
		}
		if err := c.checkSockets(); err != nil {
			return err
		}
		return c.jail().check()
	case kindHost:
		if c.UID != 0 || c.GID != 0 || len(c.Binds) > 0 || c.TmpBytes != 0 || len(c.Listen) > 0 || c.HandOut != "" || c.ListenFrom != "" {
			return errors.New("the host process has no uid, gid, binds, tmpBytes, listen, handOut and listenFrom")
		}
		_, err := capabilityBits(c.Capabilities)
		return err
	}
	return fmt.Errorf("kind %q is neither %s nor %s", c.Kind, kindService, kindHost)
}

func (c *confinement) checkSockets() error {
	for _, path := range []string{c.HandOut, c.ListenFrom} {
		if path != "" && !isPlain(path) {
			return fmt.Errorf("%q is not a plain absolute path", path)
		}
	}
	if c.ListenFrom != "" && (c.HandOut != "" || len(c.Listen) > 0) {
		return errors.New("listenFrom excludes listen and handOut")
	}
	return checkPorts(c.Listen)
}

// openSockets opens or receives what the program inherits.
func (c *confinement) openSockets() (err error) {
	if c.ListenFrom != "" {
		c.passed, err = receivePorts(c.ListenFrom)
		return err
	}
	if c.passed, err = openPorts(c.Listen); err != nil || c.HandOut == "" {
		return err
	}
	c.passed = append(c.passed, handOutName)
	return openListener(listener{Path: c.HandOut, Fd: firstPassedFd + len(c.passed) - 1})
}

// jail is the part of a service's confinement that it shares with the jail of a machine. The network is the host's: a service listens on it.
func (c *confinement) jail() *spec {
	env := maps.Clone(c.Env)
	if len(c.passed) > 0 {
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, portEnvironment(c.passed))
	}
	return &spec{
		UID: c.UID, GID: c.GID, CgroupProcs: c.CgroupProcs, Network: "host", Binds: c.Binds, Devices: serviceDevices,
		Rlimits: c.Rlimits, Filter: "service", Program: c.Program, Argv: c.Argv, Env: env,
	}
}

// capabilityNames are all capabilities, by number.
var capabilityNames = []string{
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE",
	"NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT",
	"SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE",
	"AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ",
	"PERFMON", "BPF", "CHECKPOINT_RESTORE",
}

// capabilityBits is a set of capabilities with a bit for each.
func capabilityBits(names []string) (uint64, error) {
	bits := uint64(0)
	for _, name := range names {
		number := slices.Index(capabilityNames, name)
		if number < 0 {
			return 0, fmt.Errorf("unknown capability %q", name)
		}
		bits |= 1 << number
	}
	return bits, nil
}
