// Package fault defines the errors of the protocol: a code, a message and the HTTP status of each code.
package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"syscall"
)

const maxMessage = 1024

// Fault is an error that is sent to the host.
type Fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (f *Fault) Error() string { return f.Code + ": " + f.Message }

// New returns a fault with one of the protocol's codes.
func New(code, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

var statuses = map[string]int{
	"not_found": 404, "permission": 403, "too_large": 413, "bad_request": 400, "bad_cwd": 400, "arguments_too_large": 400,
	"refused": 502, "internal": 500, "too_many": 429, "no_space": 507,
}

// Status is the HTTP status of the fault.
func (f *Fault) Status() int {
	if s, ok := statuses[f.Code]; ok {
		return s
	}
	return http.StatusConflict
}

var codes = map[syscall.Errno]string{
	syscall.ENOENT: "not_found", syscall.EEXIST: "exists", syscall.EACCES: "permission", syscall.EPERM: "permission",
	syscall.EISDIR: "is_directory", syscall.ENOTDIR: "not_directory", syscall.ENOTEMPTY: "not_empty",
	syscall.ENOSPC: "no_space", syscall.EDQUOT: "no_space", syscall.EFBIG: "too_large", syscall.EROFS: "read_only",
	syscall.ENAMETOOLONG: "name_too_long", syscall.ELOOP: "symlink_loop", syscall.EINVAL: "bad_request",
	syscall.ENXIO: "not_regular", syscall.E2BIG: "arguments_too_large",
}

// From converts an error to a fault: a fault is returned as it is, an errno gets its code, anything else is internal.
func From(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if code, ok := codes[errno]; ok {
			return New(code, "%s", err)
		}
	}
	return New("internal", "%s", err)
}

// Send sends err as the response to a request.
func Send(w http.ResponseWriter, err error) {
	f := From(err)
	if len(f.Message) > maxMessage {
		f = New(f.Code, "%s", f.Message[:maxMessage])
	}
	b, _ := json.Marshal(f)
	w.Header().Set("content-type", "application/json")
	w.WriteHeader(f.Status())
	w.Write(b)
}
