// Package control handles the service's requests: one JSON object per line in, one response per line out.
package control

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"mayfly/net/internal/machine"
	"mayfly/net/internal/names"
)

// Request is one request of the service.
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

// Control serves the machines of one service.
type Control struct {
	shared  *machine.Shared
	mu      sync.Mutex
	serving map[int]*machine.Machine
}

// New creates a Control without machines.
func New(shared *machine.Shared) *Control {
	return &Control{shared: shared, serving: map[int]*machine.Machine{}}
}

// Serve handles requests until the input ends. Requests run concurrently; the service sends one at a time per slot.
func (c *Control) Serve(input io.Reader, output io.Writer) error {
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
			if err := c.handle(request); err != nil {
				response.Error = err.Error()
			}
			outputMu.Lock()
			defer outputMu.Unlock()
			_ = encoder.Encode(response)
		}()
	}
}

func (c *Control) handle(request Request) error {
	if request.Op == "remove" {
		return c.remove(request.Slot)
	}
	policy, err := names.New(request.Mode, request.Names)
	if err != nil {
		return err
	}
	switch request.Op {
	case "add":
		return c.add(request, policy)
	case "policy":
		return c.setPolicy(request, policy)
	default:
		return fmt.Errorf("unknown op: %q", request.Op)
	}
}

// add starts serving a slot. A server that the slot already has is closed first.
func (c *Control) add(request Request, policy *names.Policy) error {
	if err := c.remove(request.Slot); err != nil {
		return err
	}
	added, err := machine.Start(request.Netns, request.Listen, c.shared, policy)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving[request.Slot] = added
	return nil
}

func (c *Control) setPolicy(request Request, policy *names.Policy) error {
	c.mu.Lock()
	found := c.serving[request.Slot]
	c.mu.Unlock()
	if found == nil {
		return fmt.Errorf("slot %d is not served", request.Slot)
	}
	return found.SetPolicy(policy, request.Transaction)
}

// remove stops serving a slot. A slot that is not served is not an error.
func (c *Control) remove(slot int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.serving[slot]; found != nil {
		found.Close()
		delete(c.serving, slot)
	}
	return nil
}
