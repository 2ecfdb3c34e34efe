// Package execution runs commands and keeps their results until the host has them.
package execution

import (
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"time"

	"mayfly/agent/internal/fault"
)

// Request is what the host wants run.
type Request struct {
	ID           string            `json:"id"`
	Command      string            `json:"command"`
	Cwd          string            `json:"cwd"`
	Env          map[string]string `json:"env"`
	TimeoutMs    int64             `json:"timeout_ms"`    // 0: none
	CaptureBytes *int64            `json:"capture_bytes"` // of each stream; absent: 1 MiB
	Follow       bool              `json:"follow"`
	Stdin        bool              `json:"stdin"`
}

const (
	defaultCapture = 1 << 20
	maxCapture     = 64 << 20
	maxTimeout     = 30 * 24 * time.Hour
	// MaxBody is the largest request, in bytes.
	MaxBody = 4 << 20
)

// An id names a control group, so it has no dot and no slash.
var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// decode reads and checks a request.
func decode(body io.Reader) (*Request, error) {
	b, err := io.ReadAll(io.LimitReader(body, MaxBody+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxBody {
		return nil, fault.New("too_large", "the request has over %d bytes", MaxBody)
	}
	r := new(Request)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fault.New("bad_request", "%s", err)
	}
	return r, r.check()
}

func (r *Request) check() error {
	switch {
	case !validID.MatchString(r.ID):
		return fault.New("bad_request", "id is not 1 to 128 letters, digits, _ or -")
	case strings.IndexByte(r.Command, 0) >= 0:
		return fault.New("bad_request", "command holds a NUL byte")
	case r.TimeoutMs < 0 || r.TimeoutMs > maxTimeout.Milliseconds():
		return fault.New("bad_request", "timeout_ms is out of range")
	case r.CaptureBytes != nil && (*r.CaptureBytes < 0 || *r.CaptureBytes > maxCapture):
		return fault.New("bad_request", "capture_bytes is out of range")
	}
	return nil
}

func (r *Request) capture() int64 {
	if r.CaptureBytes == nil {
		return defaultCapture
	}
	return *r.CaptureBytes
}
