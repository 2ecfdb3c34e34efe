package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// takeOverDelay lets the response to the execution be sent first.
const takeOverDelay = 100 * time.Millisecond

// intercept handles executions of `mayfly-hostile <mode>` and passes everything else to the real agent.
func intercept(real http.Handler, gates *pair) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" || r.URL.Path != "/executions" {
			real.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var execution struct {
			Command string `json:"command"`
		}
		_ = json.Unmarshal(body, &execution)
		mode, ok := strings.CutPrefix(execution.Command, "mayfly-hostile ")
		switch {
		case !ok:
			r.Body = io.NopCloser(bytes.NewReader(body))
			real.ServeHTTP(w, r)
		case responses[mode] != nil:
			responses[mode](w, r)
		case mode == "crash":
			_ = os.WriteFile(crashFile, nil, 0o600)
			os.Exit(3)
		case takeovers[mode] != nil:
			w.Write(validResult())
			time.AfterFunc(takeOverDelay, func() { gates.takeOver(mode) })
		default:
			http.Error(w, `{"code":"bad_request","message":"unknown mode"}`, http.StatusBadRequest)
		}
	})
}
