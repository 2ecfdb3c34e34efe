package routes

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"mayfly/agent/internal/cgroup"
	"mayfly/agent/internal/execution"
	"mayfly/agent/internal/identity"
	"mayfly/agent/internal/terminal"
)

func TestHandler(t *testing.T) {
	h := (&Agent{
		Version: "v", Executions: &execution.Table{Tree: &cgroup.Tree{}}, Terminals: &terminal.Table{}, Machine: identity.Kernel{},
		SetExpiry: func(int64) {},
	}).Handler()
	for _, c := range []struct {
		method, path string
		status       int
		key          string
	}{
		{"GET", "/hello", 200, "kernel"}, {"GET", "/figures", 200, "unix_ns"}, {"POST", "/executions", 400, "code"},
		{"GET", "/nothing", 404, "code"}, {"PATCH", "/hello", 404, "code"}, {"GET", "/executions/none", 404, "code"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		var body map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != c.status || body[c.key] == nil {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}
