package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestTheProgramHasNoPrivileges(t *testing.T) {
	p := start(t, nil)
	id := strconv.Itoa(testUID)
	four := strings.Join([]string{id, id, id, id}, " ")
	none := "0000000000000000"
	for field, want := range map[string]string{
		"Uid": four, "Gid": four, "Groups": "", "NoNewPrivs": "1", "Threads": "1", "Umask": "0077",
		"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
		"SigBlk": none, "SigCgt": none,
	} {
		if got := p.status(t, field); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
	if environ := p.read(t, "environ"); environ != "" {
		t.Errorf("environment %q", environ)
	}
}

func TestTheFilterIsThatOfTheSpecification(t *testing.T) {
	if got := start(t, func(s *spec) { s.Filter = "qemu" }).status(t, "Seccomp"); got != "2" {
		t.Errorf("Seccomp: %s", got)
	}
	s := jail(t, "/usr/bin/sh", "-c", "(exit 0)")
	if _, stderr, code := run(t, s); code != 0 {
		t.Errorf("without a filter: code %d, %q", code, stderr)
	}
	s.Filter = "qemu"
	if _, stderr, code := run(t, s); code == 0 || !strings.Contains(stderr, "Cannot fork") {
		t.Errorf("with a filter: code %d, %q", code, stderr)
	}
}

func TestTheEnvironmentIsTheGivenOne(t *testing.T) {
	p := start(t, func(s *spec) { s.Env = map[string]string{"LD_PRELOAD": "", "A": "1"} })
	if environ := p.read(t, "environ"); environ != "A=1\x00LD_PRELOAD=\x00" {
		t.Errorf("environment %q", environ)
	}
}

func TestTheProgramHasItsOwnNamespaces(t *testing.T) {
	p := start(t, nil)
	for _, name := range []string{"mnt", "ipc", "uts", "net"} {
		own, _ := os.Readlink("/proc/self/ns/" + name)
		if got, err := os.Readlink(string(p) + "/ns/" + name); err != nil || got == own {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
	if devices := strings.Count(p.read(t, "net/dev"), ":"); devices != 1 {
		t.Errorf("%d network devices, want loopback alone", devices)
	}
}

func TestTheNetworkIsTheGivenOne(t *testing.T) {
	first := start(t, nil)
	for network, like := range map[string]string{"host": "/proc/self", string(first) + "/ns/net": string(first)} {
		p := start(t, func(s *spec) { s.Network = network })
		want, _ := os.Readlink(like + "/ns/net")
		if got, _ := os.Readlink(string(p) + "/ns/net"); got != want || got == "" {
			t.Errorf("%s: %s, want %s", network, got, want)
		}
	}
}

func TestLimitsAreSetAndCoreDumpsAreEmpty(t *testing.T) {
	p := start(t, func(s *spec) { s.Rlimits = map[string]uint64{"nofile": 100, "memlock": 65536} })
	limits := p.read(t, "limits")
	for line, want := range map[string]string{
		"Max core file size": "0 0 bytes", "Max open files": "100 100 files", "Max locked memory": "65536 65536 bytes",
	} {
		_, rest, _ := strings.Cut(limits, line)
		rest, _, _ = strings.Cut(rest, "\n")
		if got := strings.Join(strings.Fields(rest), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if filter := strings.TrimSpace(p.read(t, "coredump_filter")); strings.Trim(filter, "0") != "" {
		t.Errorf("a core dump would contain %s", filter)
	}
}
