package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goodSpec = `{"uid":2000000,"gid":2000000,"network":"none","program":"/usr/bin/true"`

func TestSpecIsReadFromTheArgumentOrAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spec.json")
	if err := os.WriteFile(path, []byte(goodSpec+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, argument := range []string{goodSpec + "}", "@" + path} {
		s, err := readSpec([]string{argument})
		if err != nil || s.UID != 2_000_000 || s.Program != "/usr/bin/true" {
			t.Errorf("%s: %v %v", argument, s, err)
		}
	}
}

func TestSpecRefusesWhatIsNoJail(t *testing.T) {
	for want, document := range map[string]string{
		"unexpected EOF": `{`,
		"unknown field":  goodSpec + `,"uids":1}`,
		"never root's":   `{"gid":2,"network":"none","program":"/a"}`,
		"neither none":   `{"uid":2,"gid":2,"program":"/a"}`,
		"mode":           goodSpec + `,"binds":[{"path":"/a","mode":"w"}]}`,
		`"/" may not`:    goodSpec + `,"binds":[{"path":"/","mode":"ro"}]}`,
		`"/proc/1" may`:  goodSpec + `,"binds":[{"path":"/proc/1","mode":"ro"}]}`,
		`"" may not`:     goodSpec + `,"binds":[{"mode":"ro"}]}`,
		`"/a/../b"`:      goodSpec + `,"binds":[{"path":"/a/../b","mode":"ro"}]}`,
		`"a" is not`:     goodSpec + `,"cgroupProcs":["a"]}`,
		"descriptor 2":   goodSpec + `,"keepFds":[2]}`,
		"descriptor 3":   goodSpec + `,"keepFds":[3],"listen":[{"path":"/a","fd":3}]}`,
		"descriptor 64":  goodSpec + `,"keepFds":[64]}`,
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
