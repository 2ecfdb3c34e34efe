package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goodService = `{"kind":"service","uid":2000000,"gid":2000000,"tmpBytes":1048576,"program":"/usr/bin/true","folder":"/"`
const goodHost = `{"kind":"host","program":"/usr/bin/true","folder":"/"`

func TestConfinementsAreRead(t *testing.T) {
	s, err := parseConfinement([]byte(goodService + `,"binds":[{"path":"/usr/lib","mode":"exec"}],"env":{"TZ":"UTC"}}`))
	if err != nil || s.UID != 2_000_000 || len(s.Binds) != 1 {
		t.Errorf("%+v %v", s, err)
	}
	h, err := parseConfinement([]byte(goodHost + `,"capabilities":["NET_ADMIN","CHOWN"],"oomScoreAdj":-999}`))
	if err != nil || len(h.Capabilities) != 2 {
		t.Errorf("%+v %v", h, err)
	}
}

func TestUnsafeConfinementsAreRejected(t *testing.T) {
	for document, want := range map[string]string{
		`{`:                                        "unexpected EOF",
		`{}`:                                       `kind "" is neither`,
		goodService + `}{}`:                        "text after the document",
		goodService + `,"uids":1}`:                 "unknown field",
		goodService + `,"uid":0}`:                  "not be root's",
		goodService + `,"gid":0}`:                  "not be root's",
		goodService + `,"uid":4294967295}`:         "not be root's",
		goodService + `,"uid":-1}`:                 "cannot unmarshal",
		goodService + `,"tmpBytes":0}`:             "tmpBytes 0",
		goodService + `,"tmpBytes":99999999999}`:   "tmpBytes 99999999999",
		goodService + `,"capabilities":["CHOWN"]}`: "no capabilities",
		goodService + `,"binds":[{"path":"/","mode":"ro"}]}`:                                     `"/" is not allowed`,
		goodService + `,"binds":[{"path":"/tmp","mode":"rw"}]}`:                                  `"/tmp" is not allowed`,
		goodService + `,"binds":[{"path":"/proc/1","mode":"ro"}]}`:                               `"/proc/1" is not allowed`,
		goodService + `,"binds":[{"path":"/dev/kvm","mode":"ro"}]}`:                              `"/dev/kvm" is not allowed`,
		goodService + `,"binds":[{"path":"/a/../b","mode":"ro"}]}`:                               `"/a/../b"`,
		goodService + `,"binds":[{"path":"/proc/sys/vm/overcommit_memory","mode":"ro"}]}`:        "not allowed",
		goodService + `,"folder":"data"}`:                                                        `"data" is not a plain`,
		goodService + `,"cgroupProcs":["/etc/passwd"]}`:                                          "not a cgroup.procs",
		goodService + `,"oomScoreAdj":-1001}`:                                                    "oomScoreAdj",
		goodService + `,"rlimits":{"stack":1}}`:                                                  `unknown limit "stack"`,
		goodService + `,"env":{"A=B":"C"}}`:                                                      `environment variable "A=B"`,
		goodService + `,"env":{"A":"\u0000"}}`:                                                   `environment variable "A"`,
		goodService + `,"argv":["\u0000"]}`:                                                      "NUL",
		goodService + `,"listen":[{"name":"api","address":"localhost","port":443}]}`:             `port "api" on localhost:443`,
		goodService + `,"listen":[{"name":"api","address":"::1%lo","port":443}]}`:                `port "api"`,
		goodService + `,"handOut":"sockets"}`:                                                    `"sockets" is not a plain`,
		goodService + `,"listenFrom":"/a/../b"}`:                                                 `"/a/../b" is not a plain`,
		goodService + `,"listenFrom":"/a","handOut":"/b"}`:                                       "listenFrom excludes",
		goodService + `,"listenFrom":"/a","listen":[{"name":"api","address":"::1","port":443}]}`: "listenFrom excludes",
		goodHost + `,"listenFrom":"/a"}`:                                                         "the host process has no",
		goodService + `,"listen":[{"name":"api","address":"::1","port":65536}]}`:                 "cannot unmarshal",
		goodService + `,"listen":[{"name":"a:b","address":"::1","port":443}]}`:                   `port "a:b"`,
		goodHost + `,"listen":[{"name":"api","address":"::1","port":443}]}`:                      "the host process has no",
		goodHost + `,"uid":7}`:                                                                   "the host process has no uid",
		goodHost + `,"binds":[{"path":"/usr","mode":"ro"}]}`:                                     "the host process has no uid",
		goodHost + `,"capabilities":["CAP_CHOWN"]}`:                                              `unknown capability "CAP_CHOWN"`,
		goodHost + `,"folder":""}`:                                                               "not a plain",
	} {
		if _, err := parseConfinement([]byte(document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", document, err, want)
		}
	}
}

func TestOnlyAFileOfRootIsRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "confinement.json")
	if err := os.WriteFile(path, []byte(goodHost+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readDocument(path); err != nil {
		t.Error(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, maxDocumentBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	readable := filepath.Join(dir, "readable")
	if err := os.WriteFile(readable, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		link: "too many levels of symbolic links", large: "longer than", readable: "open to other users", dir: "open to other users",
		"confinement.json": "neither an absolute path", "0": "neither an absolute path", "/nowhere": "no such file",
	} {
		if _, err := readDocument(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", source, err, want)
		}
	}
}

func FuzzConfinement(f *testing.F) {
	f.Add([]byte(goodService + `,"binds":[{"path":"/usr/bin/true","mode":"exec"}],"rlimits":{"nofile":9},"env":{"A":"B"}}`))
	f.Add([]byte(goodHost + `,"capabilities":["NET_ADMIN"],"cgroupProcs":["/sys/fs/cgroup/a/cgroup.procs"]}`))
	f.Add([]byte(goodService + `,"binds":[{"path":"//dev/kvm","mode":"ro"}]}`))
	f.Add([]byte(goodService + `,"listen":[{"name":"api","address":"::ffff:127.0.0.1","port":443}]}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		c, err := parseConfinement(document)
		if err != nil {
			return
		}
		if !isPlain(c.Program) || !isPlain(c.Folder) || (c.Kind == kindService) != (c.UID != 0) || (c.Kind == kindService) != (c.GID != 0) {
			t.Fatalf("accepted: %+v", c)
		}
		if c.Kind == kindService && len(c.Capabilities) > 0 {
			t.Fatalf("capabilities accepted: %+v", c)
		}
		for _, b := range c.Binds {
			top, _, _ := strings.Cut(strings.TrimPrefix(b.Path, "/"), "/")
			if !isPlain(b.Path) || b.Path == "/tmp" || top == "" || top == "proc" || top == "sys" || top == "dev" {
				t.Fatalf("bind accepted: %+v", b)
			}
		}
		for _, p := range c.Listen {
			if address, err := netip.ParseAddr(p.Address); c.Kind != kindService || err != nil || address.Zone() != "" || strings.Contains(p.Name, ":") {
				t.Fatalf("port accepted: %+v", p)
			}
		}
		for _, path := range []string{c.HandOut, c.ListenFrom} {
			if path != "" && (c.Kind != kindService || !isPlain(path)) {
				t.Fatalf("socket accepted: %s", path)
			}
		}
		for _, path := range c.CgroupProcs {
			if !isPlain(path) || filepath.Base(path) != "cgroup.procs" {
				t.Fatalf("cgroup accepted: %s", path)
			}
		}
	})
}
