// Package execution runs commands and keeps their results until the host acknowledges them.
package execution

import (
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"time"

	"mayfly/agent/internal/fault"
)

// Request is a command to run.
type Request struct {
	ID           string            `json:"id"`
	Command      string            `json:"command"`
	Cwd          string            `json:"cwd"`
	Env          map[string]string `json:"env"`
	TimeoutMs    int64             `json:"timeout_ms"`    // 0 means none
	CaptureBytes *int64            `json:"capture_bytes"` // per stream; 1 MiB if absent
	SpoolBytes   int64             `json:"spool_bytes"`   // of a live command
	Stdin        bool              `json:"stdin"`
}

const (
	defaultCapture = 1 << 20
	maxCapture     = 64 << 20
	maxSpool       = 1 << 30
	maxTimeout     = 30 * 24 * time.Hour
	// MaxBody is the maximum size of a request in bytes.
	MaxBody = 4 << 20
)

// An id is used as the name of a cgroup, so it contains no dot or slash.
var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// decode reads and validates a request.
func decode(body io.Reader) (*Request, error) {
	b, err := io.ReadAll(io.LimitReader(body, MaxBody+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxBody {
		return nil, fault.New("too_large", "request exceeds %d bytes", MaxBody)
	}
	r := new(Request)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fault.New("bad_request", "%s", err)
	}
	return r, r.validate()
}

func (r *Request) validate() error {
	switch {
	case !validID.MatchString(r.ID):
		return fault.New("bad_request", "id must be 1 to 128 letters, digits, _ or -")
	case strings.IndexByte(r.Command, 0) >= 0:
		return fault.New("bad_request", "command contains a NUL byte")
	case r.TimeoutMs < 0 || r.TimeoutMs > maxTimeout.Milliseconds():
		return fault.New("bad_request", "timeout_ms is out of range")
	case r.CaptureBytes != nil && (*r.CaptureBytes < 0 || *r.CaptureBytes > maxCapture):
		return fault.New("bad_request", "capture_bytes is out of range")
	case r.SpoolBytes < 0 || r.SpoolBytes > maxSpool:
		return fault.New("bad_request", "spool_bytes is out of range")
	}
	return nil
}

func (r *Request) capture() int64 {
	if r.CaptureBytes == nil {
		return defaultCapture
	}
	return *r.CaptureBytes
}
