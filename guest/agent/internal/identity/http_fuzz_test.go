package identity

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// strict is a machine that fails the test on input that a kernel would reject.
type strict struct{ t *testing.T }

func (s strict) SetClock(time.Time) error { return nil }
func (s strict) AddEntropy(b []byte) error {
	if len(b) < 32 || len(b) > 64 {
		s.t.Fatalf("%d bytes of entropy", len(b))
	}
	return nil
}
func (s strict) SetHostname(name string) error {
	if !validHostname(name) {
		s.t.Fatalf("hostname %q", name)
	}
	return nil
}

func FuzzIdentity(f *testing.F) {
	f.Add([]byte(`{"unix_ns":"1790000000000000000","entropy":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","hostname":"sbx-1","machine_id":"0123456789abcdef0123456789abcdef","expires_at_ms":0}`))
	f.Add([]byte(`{"unix_ns":"-1","expires_at_ms":-1,"hostname":"a\nb"}`))
	root := f.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		mux := http.NewServeMux()
		Register(mux, strict{t}, root, func() {}, func(ms int64) {
			if ms < 0 {
				t.Fatalf("expiry %d", ms)
			}
		})
		for _, path := range []string{"/identity", "/clock", "/expiry"} {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequest("POST", path, bytes.NewReader(body)))
			if w.Code >= 500 {
				t.Fatalf("%s returned %d: %s", path, w.Code, w.Body)
			}
		}
	})
}
