// Package control takes the service's orders: one JSON object per line in, one answer per line out.
package control

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"mayfly/net/internal/machine"
	"mayfly/net/internal/names"
	"mayfly/net/internal/upstream"
)

// Request is one order of the service.
type Request struct {
	ID int64 `json:"id"`
	// Op is "add", "policy" or "remove".
	Op   string `json:"op"`
	Slot int    `json:"slot"`
	// Netns is the path of the namespace and Listen the address in it (add).
	Netns  string `json:"netns"`
	Listen string `json:"listen"`
	// Mode and Names say what may be looked up (add, policy).
	Mode  names.Mode `json:"mode"`
	Names []string   `json:"names"`
	// Transaction is the nft text that goes with a policy (policy).
	Transaction string `json:"transaction"`
}

// Response answers the request of its id; an empty error is success.
type Response struct {
	ID    int64  `json:"id"`
	Error string `json:"error,omitempty"`
}

// Control holds the machines of one service.
type Control struct {
	servers *upstream.Servers
	mu      sync.Mutex
	serving map[int]*machine.Machine
}

// New makes a control without machines.
func New(servers *upstream.Servers) *Control {
	return &Control{servers: servers, serving: map[int]*machine.Machine{}}
}

// Serve obeys until the input ends. Orders run side by side; the service waits for one before it gives the next of a slot.
func (c *Control) Serve(input io.Reader, output io.Writer) error {
	decoder := json.NewDecoder(input)
	encoder := json.NewEncoder(output)
	var writing sync.Mutex
	for {
		var request Request
		if err := decoder.Decode(&request); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		go func() {
			response := Response{ID: request.ID}
			if err := c.obey(request); err != nil {
				response.Error = err.Error()
			}
			writing.Lock()
			defer writing.Unlock()
			_ = encoder.Encode(response)
		}()
	}
}

func (c *Control) obey(request Request) error {
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
		return fmt.Errorf("no such order: %q", request.Op)
	}
}

// add starts serving a slot; what served it before is closed.
func (c *Control) add(request Request, policy *names.Policy) error {
	if err := c.remove(request.Slot); err != nil {
		return err
	}
	added, err := machine.Start(request.Netns, request.Listen, c.servers, policy)
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

// remove stops serving a slot. One that is not served is no error.
func (c *Control) remove(slot int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.serving[slot]; found != nil {
		found.Close()
		delete(c.serving, slot)
	}
	return nil
}
