package execution

import (
	"bytes"
	"strings"
	"testing"
)

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":"exec_1","command":"true","cwd":"/workspace","env":{"K":"V"},"timeout_ms":60000,"capture_bytes":1048576}`))
	f.Add([]byte(`{"id":"../x","command":"a\u0000b"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decode(bytes.NewReader(body))
		if err != nil {
			return
		}
		if strings.ContainsAny(r.ID, "./\x00") || r.ID == "" || strings.ContainsRune(r.Command, 0) {
			t.Fatalf("accepted: %+v", r)
		}
		if c := r.capture(); c < 0 || c > maxCapture || r.TimeoutMs < 0 {
			t.Fatalf("accepted numbers: %+v", r)
		}
	})
}
