package main

import (
	"sync"
	"sync/atomic"
	"time"

	"mayfly/agent/internal/port"
)

// gate is a port of the real agent that can be taken away from it. After that, the agent's reads and writes never return.
type gate struct {
	*port.Device
	onRead  func()
	taken   atomic.Bool
	readMu  sync.Mutex
	writeMu sync.Mutex
}

func newGate(d *port.Device) *gate { return &gate{Device: d, onRead: func() {}} }

func (g *gate) Read(p []byte) (int, error) {
	g.readMu.Lock()
	n, err := g.Device.Read(p)
	g.readMu.Unlock()
	if n > 0 {
		g.onRead()
	}
	g.blockIfTaken()
	return n, err
}

func (g *gate) Write(p []byte) (int, error) {
	g.blockIfTaken()
	g.writeMu.Lock()
	n, err := g.Device.Write(p)
	g.writeMu.Unlock()
	g.blockIfTaken()
	return n, err
}

func (g *gate) SetReadDeadline(t time.Time) error {
	g.blockIfTaken()
	return g.Device.SetReadDeadline(t)
}
func (g *gate) SetWriteDeadline(t time.Time) error {
	g.blockIfTaken()
	return g.Device.SetWriteDeadline(t)
}

func (g *gate) blockIfTaken() {
	if g.taken.Load() {
		select {}
	}
}

// take returns the port once the agent no longer uses it.
func (g *gate) take() *port.Device {
	g.taken.Store(true)
	g.Device.SetReadDeadline(time.Unix(1, 0))
	g.Device.SetWriteDeadline(time.Unix(1, 0))
	g.readMu.Lock()
	g.writeMu.Lock()
	g.Device.SetReadDeadline(time.Time{})
	g.Device.SetWriteDeadline(time.Time{})
	return g.Device
}

// pair is both ports of an agent.
type pair struct {
	control, data *gate
	once          sync.Once
}

// takeOver takes both ports and starts the attack of a mode on them.
func (p *pair) takeOver(mode string) {
	p.once.Do(func() {
		attack := takeovers[mode]
		go attack(&ports{control: p.control.take(), data: p.data.take()})
	})
}
