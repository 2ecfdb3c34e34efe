// Package routes puts every request of the protocol together.
package routes

import (
	"encoding/json"
	"net/http"
	"syscall"
	"time"

	"mayfly/agent/internal/execution"
	"mayfly/agent/internal/fault"
	"mayfly/agent/internal/figures"
	"mayfly/agent/internal/files"
	"mayfly/agent/internal/identity"
	"mayfly/agent/internal/terminal"
	"mayfly/agent/internal/tunnel"
)

// Agent is what the requests act on.
type Agent struct {
	Version    string
	UserGroup  string // folder of the user's control group
	Root       string // where /etc is; "" but for tests
	Executions *execution.Table
	Terminals  *terminal.Table
	Machine    identity.Machine
	SetExpiry  func(unixMs int64)
	PowerOff   func()
}

const protocol = 1

// Handler serves the protocol.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", a.hello)
	mux.HandleFunc("POST /poweroff", a.powerOff)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fault.Send(w, fault.New("not_found", "no request %.16s %.200s", r.Method, r.URL.Path))
	})
	files.Register(mux)
	tunnel.Register(mux)
	figures.Register(mux, a.UserGroup)
	identity.Register(mux, a.Machine, a.Root, a.SetExpiry)
	a.Executions.Register(mux)
	a.Terminals.Register(mux)
	return mux
}

func (a *Agent) hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("content-type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"protocol": protocol, "version": a.Version, "kernel": kernel(), "boot_ms": figures.UptimeMs()})
}

func (a *Agent) powerOff(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	go func() {
		time.Sleep(50 * time.Millisecond) // the answer leaves first
		a.PowerOff()
	}()
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
