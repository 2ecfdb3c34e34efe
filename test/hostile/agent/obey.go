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

// turnAfter lets the answer to the order leave first.
const turnAfter = 100 * time.Millisecond

// obey runs `mayfly-hostile <mode>` itself and leaves everything else to the real agent.
func obey(real http.Handler, gates *pair) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" || r.URL.Path != "/executions" {
			real.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var order struct {
			Command string `json:"command"`
		}
		_ = json.Unmarshal(body, &order)
		mode, ok := strings.CutPrefix(order.Command, "mayfly-hostile ")
		switch {
		case !ok:
			r.Body = io.NopCloser(bytes.NewReader(body))
			real.ServeHTTP(w, r)
		case answers[mode] != nil:
			answers[mode](w, r)
		case mode == "crash":
			_ = os.WriteFile(crashFile, nil, 0o600)
			os.Exit(3)
		case takeovers[mode] != nil:
			w.Write(honestResult())
			time.AfterFunc(turnAfter, func() { gates.turn(mode) })
		default:
			http.Error(w, `{"code":"bad_request","message":"no such mode"}`, http.StatusBadRequest)
		}
	})
}
