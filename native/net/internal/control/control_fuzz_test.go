package control

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"mayfly/net/internal/names"
)

// nobody serves no machine.
type nobody struct{ t *testing.T }

func (n nobody) Add(slot int, _, _ string, mode names.Mode, _ []string) error {
	return n.check(slot, mode)
}

func (n nobody) SetPolicy(slot int, mode names.Mode, _ []string, _ string) error {
	return n.check(slot, mode)
}

func (n nobody) Remove(slot int) error { return n.check(slot, names.None) }

func (n nobody) check(slot int, mode names.Mode) error {
	if slot < 0 || slot > maxSlot || (mode != names.All && mode != names.None && mode != names.List) {
		n.t.Errorf("slot %d, mode %q", slot, mode)
	}
	return nil
}

func FuzzOrders(f *testing.F) {
	f.Add([]byte(`{"id":1,"op":"policy","slot":1,"mode":"list","names":["a.test"]}` + "\n" + `{"id":2,"op":"remove","slot":1}`))
	f.Add([]byte(`{"id":1,"op":"add","slot":70000,"mode":"all"}`))
	f.Add([]byte(`{"id":1e400}`))
	f.Fuzz(func(t *testing.T, requests []byte) {
		count := 0
		for decoder := json.NewDecoder(bytes.NewReader(requests)); ; count++ {
			var request Request
			if decoder.Decode(&request) != nil {
				break
			}
		}
		answers, output := io.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = Serve(nobody{t}, bytes.NewReader(requests), output)
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
