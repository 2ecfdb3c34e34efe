package main

import (
	"encoding/json"
	"strings"
	"testing"
)

const goodSpec = `{"uid":2000000,"gid":2000000,"network":"none","program":"/usr/bin/true"`

func TestSpecIsReadFromTheArgument(t *testing.T) {
	s, err := readSpec([]string{goodSpec + "}"})
	if err != nil || s.UID != 2_000_000 || s.Program != "/usr/bin/true" {
		t.Errorf("%v %v", s, err)
	}
}

func TestUnsafeSpecsAreRejected(t *testing.T) {
	for want, document := range map[string]string{
		"unexpected EOF":           `{`,
		"unknown field":            goodSpec + `,"uids":1}`,
		"not be root's":            `{"gid":2,"network":"none","program":"/a"}`,
		"neither none":             `{"uid":2,"gid":2,"program":"/a"}`,
		"mode":                     goodSpec + `,"binds":[{"path":"/a","mode":"w"}]}`,
		`"/" is not allowed`:       goodSpec + `,"binds":[{"path":"/","mode":"ro"}]}`,
		`"/proc/1" is not allowed`: goodSpec + `,"binds":[{"path":"/proc/1","mode":"ro"}]}`,
		`"/proc/sys/vm/overcommit_memory" is not allowed`: goodSpec + `,"binds":[{"path":"/proc/sys/vm/overcommit_memory","mode":"rw"}]}`,
		`"" is not allowed`: goodSpec + `,"binds":[{"mode":"ro"}]}`,
		`"/a/../b"`:         goodSpec + `,"binds":[{"path":"/a/../b","mode":"ro"}]}`,
		`"a" is not`:        goodSpec + `,"cgroupProcs":["a"]}`,
		"unknown filter":    goodSpec + `,"filter":"none"}`,
		"descriptor 2":      goodSpec + `,"listen":[{"path":"/a","fd":2}]}`,
		"descriptor 3":      goodSpec + `,"listen":[{"path":"/a","fd":3},{"path":"/b","fd":3}]}`,
		"descriptor 64":     goodSpec + `,"listen":[{"path":"/a","fd":64}]}`,
	} {
		if _, err := readSpec([]string{document}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", document, err, want)
		}
	}
	if _, err := readSpec(nil); err == nil {
		t.Error("no argument was accepted")
	}
}

func encode(t *testing.T, s spec) string {
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
