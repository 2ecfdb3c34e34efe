// Package control handles the requests of the host process: one JSON object per line in, one response per line out.
package control

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"mayfly/net/internal/names"
)

// Request is one request of the host process.
type Request struct {
	ID int64 `json:"id"`
	// Op is "add", "policy" or "remove".
	Op   string `json:"op"`
	Slot int    `json:"slot"`
	// Netns is the path of the namespace, and Listen the address to listen on in it (add).
	Netns  string `json:"netns"`
	Listen string `json:"listen"`
	// Mode and Names define the policy (add, policy).
	Mode  names.Mode `json:"mode"`
	Names []string   `json:"names"`
	// Transaction is the nft script that puts the policy into force (policy).
	Transaction string `json:"transaction"`
}

// Response answers the request with the same id. An empty error means success.
type Response struct {
	ID    int64  `json:"id"`
	Error string `json:"error,omitempty"`
}

// Machines carries requests out.
type Machines interface {
	Add(slot int, netnsPath, address string, mode names.Mode, patterns []string) error
	SetPolicy(slot int, mode names.Mode, patterns []string, transaction string) error
	Remove(slot int) error
}

// maxSlot is the highest slot that fits into a message to the resolver.
const maxSlot = 1<<16 - 1

// Serve handles requests until the input ends. Requests run concurrently; the host process sends one at a time per slot.
func Serve(machines Machines, input io.Reader, output io.Writer) error {
	decoder := json.NewDecoder(input)
	encoder := json.NewEncoder(output)
	var outputMu sync.Mutex
	for {
		var request Request
		if err := decoder.Decode(&request); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		go func() {
			response := Response{ID: request.ID}
			if err := handle(machines, request); err != nil {
				response.Error = err.Error()
			}
			outputMu.Lock()
			defer outputMu.Unlock()
			_ = encoder.Encode(response)
		}()
	}
}

func handle(machines Machines, request Request) error {
	if request.Slot < 0 || request.Slot > maxSlot {
		return fmt.Errorf("%d is not a slot", request.Slot)
	}
	if request.Op == "remove" {
		return machines.Remove(request.Slot)
	}
	if _, err := names.New(request.Mode, request.Names); err != nil {
		return err
	}
	switch request.Op {
	case "add":
		return machines.Add(request.Slot, request.Netns, request.Listen, request.Mode, request.Names)
	case "policy":
		return machines.SetPolicy(request.Slot, request.Mode, request.Names, request.Transaction)
	default:
		return fmt.Errorf("unknown op: %q", request.Op)
	}
}
