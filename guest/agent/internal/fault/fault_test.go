package fault

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestErrnosMapToCodes(t *testing.T) {
	_, missing := os.Open("/no/such/file")
	cases := []struct {
		err    error
		code   string
		status int
	}{
		{missing, "not_found", 404},
		{fmt.Errorf("write: %w", syscall.ENOSPC), "no_space", 507},
		{fmt.Errorf("write: %w", syscall.EFBIG), "too_large", 413},
		{syscall.EACCES, "permission", 403},
		{syscall.ENOTDIR, "not_directory", 409},
		{fmt.Errorf("odd"), "internal", 500},
		{fmt.Errorf("wrapped: %w", New("bad_cwd", "no")), "bad_cwd", 400},
	}
	for _, c := range cases {
		if f := From(c.err); f.Code != c.code || f.Status() != c.status {
			t.Errorf("%v: got %s %d, want %s %d", c.err, f.Code, f.Status(), c.code, c.status)
		}
	}
}

func TestMessagesAreTruncated(t *testing.T) {
	w := httptest.NewRecorder()
	Send(w, New("internal", "%s", strings.Repeat("x", 5000)))
	if w.Code != 500 || w.Body.Len() > 1100 {
		t.Fatalf("status %d, %d bytes", w.Code, w.Body.Len())
	}
}
