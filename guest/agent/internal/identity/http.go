package identity

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"mayfly/agent/internal/fault"
)

// Register adds the identity, clock and expiry requests to mux. becomeAnother is called when the machine gets another machine id than it had:
// from then on it is a copy, and what the host knows of the original does not concern it.
func Register(mux *http.ServeMux, m Machine, root string, becomeAnother func(), setExpiry func(unixMs int64)) {
	var mu sync.Mutex
	machineID := ""
	mux.HandleFunc("POST /identity", func(w http.ResponseWriter, r *http.Request) {
		var i Identity
		err := decode(w, r, &i)
		if err == nil {
			err = i.Apply(m, root)
		}
		if err != nil {
			fault.Send(w, err)
			return
		}
		mu.Lock()
		if machineID != i.MachineID {
			machineID = i.MachineID
			becomeAnother()
		}
		mu.Unlock()
		setExpiry(i.ExpiresAtMs)
		sendTime(w)
	})
	mux.HandleFunc("POST /clock", func(w http.ResponseWriter, r *http.Request) {
		var i Identity
		err := decode(w, r, &i)
		if err == nil {
			err = ApplyClock(m, i.UnixNs, i.Entropy)
		}
		if err != nil {
			fault.Send(w, err)
			return
		}
		sendTime(w)
	})
	mux.HandleFunc("POST /expiry", func(w http.ResponseWriter, r *http.Request) {
		var i Identity
		if err := decode(w, r, &i); err != nil {
			fault.Send(w, err)
			return
		}
		setExpiry(i.ExpiresAtMs)
		w.WriteHeader(http.StatusNoContent)
	})
}

func decode(w http.ResponseWriter, r *http.Request, into *Identity) error {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<10)).Decode(into); err != nil {
		return fault.New("bad_request", "%s", err)
	}
	if into.ExpiresAtMs < 0 {
		return fault.New("bad_request", "expires_at_ms is negative")
	}
	return nil
}

// sendTime sends the current time, read as late as possible, so that the host can see how far off the clock is.
func sendTime(w http.ResponseWriter) {
	w.Header().Set("content-type", "application/json")
	fmt.Fprintf(w, `{"unix_ns":"%d"}`, time.Now().UnixNano())
}
