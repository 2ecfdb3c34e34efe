package control

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"mayfly/net/internal/machine"
	"mayfly/net/internal/upstream"
)

// FuzzOrders sends requests that enter no namespace, so no "add".
func FuzzOrders(f *testing.F) {
	f.Add([]byte(`{"id":1,"op":"policy","slot":1,"mode":"list","names":["a.test"]}` + "\n" + `{"id":2,"op":"remove","slot":1}`))
	f.Add([]byte(`{"id":1e400}`))
	f.Fuzz(func(t *testing.T, requests []byte) {
		count := 0
		for decoder := json.NewDecoder(bytes.NewReader(requests)); ; count++ {
			var request Request
			if decoder.Decode(&request) != nil {
				break
			}
			if request.Op == "add" {
				return
			}
		}
		answers, output := io.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = New(&machine.Shared{Servers: upstream.NewServers("/nowhere")}).Serve(bytes.NewReader(requests), output)
		}()
		decoder := json.NewDecoder(answers)
		for range count {
			var response Response
			if err := decoder.Decode(&response); err != nil {
				t.Fatal(err)
			}
		}
		<-served
	})
}
