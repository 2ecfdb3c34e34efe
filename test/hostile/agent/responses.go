package main

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mayfly/agent/internal/frame"
)

// responses are hostile responses to one execution, sent through a correct HTTP/2 server.
var responses = map[string]http.HandlerFunc{
	"never-answer": func(w http.ResponseWriter, r *http.Request) { sleepForever() },
	"stall-in-answer": func(w http.ResponseWriter, r *http.Request) {
		w.Write(framed(0, `{"started_at_ms":1}`))
		w.Write(framed(1, strings.Repeat("x", 100))[:50])
		http.NewResponseController(w).Flush()
		sleepForever()
	},
	"drip": func(w http.ResponseWriter, r *http.Request) {
		w.Write(framed(0, `{"started_at_ms":1}`))
		for send(w, framed(1, "x")) {
			http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	},
	"endless-output":       endless(framed(1, strings.Repeat("x", 65536))),
	"endless-tiny-output":  endless(bytes.Repeat(framed(1, "x"), 4096)),
	"endless-empty-frames": endless(bytes.Repeat(framed(2, ""), 4096)),
	"long-frame": func(w http.ResponseWriter, r *http.Request) {
		w.Write(framed(0, `{"started_at_ms":1}`))
		for send(w, append([]byte{1, 0xff, 0xff, 0xff, 0xff}, make([]byte, 60000)...)) {
		}
	},
	"ends-twice": func(w http.ResponseWriter, r *http.Request) {
		w.Write(validResult())
		w.Write(framed(3, result("0")))
	},
	"starts-twice": func(w http.ResponseWriter, r *http.Request) {
		w.Write(framed(0, `{"started_at_ms":1}`))
		w.Write(validResult())
	},
	"replays": func(w http.ResponseWriter, r *http.Request) {
		w.Write(bytes.Repeat(validResult(), 1000))
	},
	"no-result": func(w http.ResponseWriter, r *http.Request) { w.Write(framed(0, `{"started_at_ms":1}`)) },
	"huge-refusal": func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		flood(w, bytes.Repeat([]byte(" "), 65536))
	},
	"many-headers":  manyHeaders,
	"informational": informational,
	"lying-numbers": lyingNumbers,
	"deep-json": func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		w.Write(bytes.Repeat([]byte("["), 16384))
	},
}

// endless sends a body that starts correctly and then repeats a piece forever.
func endless(piece []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Write(framed(0, `{"started_at_ms":1}`))
		flood(w, piece)
	}
}

func flood(w http.ResponseWriter, piece []byte) {
	for send(w, piece) {
	}
}

func send(w http.ResponseWriter, piece []byte) bool {
	_, err := w.Write(piece)
	return err == nil
}

func manyHeaders(w http.ResponseWriter, r *http.Request) {
	for i := range 3000 {
		w.Header().Set("x-"+strconv.Itoa(i), strings.Repeat("v", 200))
	}
	w.Write(validResult())
}

func informational(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		w.WriteHeader(http.StatusEarlyHints)
	}
}

// invalidExitCodes are used one after another.
var invalidExitCodes = []string{"256", "-1", "1e308", "99999999999999999999999999", "0.5", `"0"`, "null", "{}", "[0]", `0,"exit_code":-9223372036854775808`,
	`0,"signal":1e15`, `0,"duration_ms":-5`, `0,"finished_at_ms":1e300`, `0,"stdout_bytes":-1`, `0,"truncated":"` + strings.Repeat("x", 3000) + `"`, `0,"__proto__":{"exit_code":1},"signal":"1"`}

var lieCount atomic.Int64

func lyingNumbers(w http.ResponseWriter, r *http.Request) {
	w.Write(framed(0, `{"started_at_ms":1}`))
	w.Write(framed(3, result(invalidExitCodes[int(lieCount.Add(1)-1)%len(invalidExitCodes)])))
}

func framed(kind byte, payload string) []byte {
	var b bytes.Buffer
	_ = frame.Write(&b, kind, []byte(payload))
	return b.Bytes()
}

// result is a result with any text as its exit code. The text may repeat a field: parsers use the last one.
func result(exitCode string) string {
	return `{"signal":0,"timed_out":false,"oom_killed":false,"duration_ms":1,"started_at_ms":1,"finished_at_ms":2,"stdout_bytes":0,"stderr_bytes":0,"truncated":false,"exit_code":` + exitCode + `}`
}

func validResult() []byte {
	return append(framed(0, `{"started_at_ms":1}`), framed(3, result("0"))...)
}
