// Package shell starts bash as the sandbox user.
package shell

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/files"
	"mayfly/agent/internal/fsuser"
)

// Path is the shell that every command runs in.
const Path = "/bin/bash"

// Home is the user's home directory.
const Home = "/home/sandbox"

var defaults = map[string]string{
	"PATH":        Home + "/.venv/bin:" + Home + "/.npm-global/bin:" + Home + "/.local/bin:/usr/local/bin:/usr/bin:/bin",
	"HOME":        Home,
	"USER":        "sandbox",
	"LOGNAME":     "sandbox",
	"SHELL":       Path,
	"LANG":        "C.UTF-8",
	"VIRTUAL_ENV": Home + "/.venv",
}

// Environment returns the default environment with extra added or replaced.
func Environment(extra map[string]string) ([]string, error) {
	env := make([]string, 0, len(defaults)+len(extra))
	for k, v := range defaults {
		if _, given := extra[k]; !given {
			env = append(env, k+"="+v)
		}
	}
	for k, v := range extra {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.IndexByte(v, 0) >= 0 {
			return nil, fault.New("bad_request", "env names must not be empty or contain = or NUL; env values must not contain NUL")
		}
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	return env, nil
}

// Directory resolves a working directory and checks that the user can enter it.
func Directory(cwd string) (string, error) {
	if cwd == "" {
		cwd = files.Workspace
	}
	if strings.IndexByte(cwd, 0) >= 0 {
		return "", fault.New("bad_request", "cwd contains a NUL byte")
	}
	if !strings.HasPrefix(cwd, "/") {
		cwd = files.Workspace + "/" + cwd
	}
	err := fsuser.Do(func() error {
		var st syscall.Stat_t
		// Looking up "." in it requires the same permission as entering it.
		if err := syscall.Stat(cwd+"/.", &st); err != nil {
			return &os.PathError{Op: "cwd", Path: cwd, Err: err}
		}
		return nil
	})
	if err != nil {
		return "", fault.New("bad_cwd", "%s", err)
	}
	return cwd, nil
}
