// Package shell starts bash as the sandbox user.
package shell

import (
	"slices"
	"strings"

	"mayfly/agent/internal/fault"
)

// Path of the shell every command runs in.
const Path = "/bin/bash"

// Home is the user's folder.
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

// Environment lays extra over the default environment.
func Environment(extra map[string]string) ([]string, error) {
	env := make([]string, 0, len(defaults)+len(extra))
	for k, v := range defaults {
		if _, given := extra[k]; !given {
			env = append(env, k+"="+v)
		}
	}
	for k, v := range extra {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.IndexByte(v, 0) >= 0 {
			return nil, fault.New("bad_request", "env: a name is empty or holds = or NUL, or a value holds NUL")
		}
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	return env, nil
}
