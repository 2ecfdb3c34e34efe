// Package routes registers all requests of the protocol.
package routes

import (
	"encoding/json"
	"net/http"
	"syscall"

	"mayfly/agent/internal/execution"
	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/files"
	"mayfly/agent/internal/identity"
	"mayfly/agent/internal/stats"
	"mayfly/agent/internal/terminal"
	"mayfly/agent/internal/tunnel"
)

// Agent holds what the requests operate on.
type Agent struct {
	Version    string
	UserGroup  string // directory of the user's cgroup
	Root       string // prefix of /etc; empty except in tests
	Executions *execution.Table
	Terminals  *terminal.Table
	Machine    identity.Machine
	SetExpiry  func(unixMs int64)
}

const protocol = 1

// Handler returns the HTTP handler of the protocol.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", a.hello)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fault.Send(w, fault.New("not_found", "no such request: %.16s %.200s", r.Method, r.URL.Path))
	})
	files.Register(mux)
	tunnel.Register(mux)
	stats.Register(mux, a.UserGroup)
	identity.Register(mux, a.Machine, a.Root, a.becomeAnother, a.SetExpiry)
	a.Executions.Register(mux)
	a.Terminals.Register(mux)
	return mux
}

// becomeAnother lets go of what belongs to the machine that this one is a copy of.
func (a *Agent) becomeAnother() {
	a.Executions.Abandon()
	a.Terminals.Abandon()
}

// hello sends the version and the kernel for hosts of earlier versions, which refuse an answer without them.
func (a *Agent) hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("content-type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"protocol": protocol, "version": a.Version, "kernel": kernel(), "boot_ms": stats.UptimeMs()})
}

func kernel() string {
	var u syscall.Utsname
	syscall.Uname(&u)
	var b []byte
	for _, c := range u.Release {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}
