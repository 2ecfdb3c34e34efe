package main

import (
	"sync"
	"sync/atomic"
	"time"

	"mayfly/agent/internal/port"
)

// gate is a port that the real agent uses until it is taken; from then on the agent's reads and writes never return.
type gate struct {
	*port.Device
	onRead  func()
	taken   atomic.Bool
	reading sync.Mutex
	writing sync.Mutex
}

func newGate(d *port.Device) *gate { return &gate{Device: d, onRead: func() {}} }

func (g *gate) Read(p []byte) (int, error) {
	g.reading.Lock()
	n, err := g.Device.Read(p)
	g.reading.Unlock()
	if n > 0 {
		g.onRead()
	}
	g.stayOut()
	return n, err
}

func (g *gate) Write(p []byte) (int, error) {
	g.stayOut()
	g.writing.Lock()
	n, err := g.Device.Write(p)
	g.writing.Unlock()
	g.stayOut()
	return n, err
}

func (g *gate) SetReadDeadline(t time.Time) error  { g.stayOut(); return g.Device.SetReadDeadline(t) }
func (g *gate) SetWriteDeadline(t time.Time) error { g.stayOut(); return g.Device.SetWriteDeadline(t) }

func (g *gate) stayOut() {
	if g.taken.Load() {
		select {}
	}
}

// take returns the port once the agent has let go of it.
func (g *gate) take() *port.Device {
	g.taken.Store(true)
	g.Device.SetReadDeadline(time.Unix(1, 0))
	g.Device.SetWriteDeadline(time.Unix(1, 0))
	g.reading.Lock()
	g.writing.Lock()
	g.Device.SetReadDeadline(time.Time{})
	g.Device.SetWriteDeadline(time.Time{})
	return g.Device
}

// pair is both ports of an agent.
type pair struct {
	control, data *gate
	once          sync.Once
}

// turn takes both ports and misbehaves on them for ever.
func (p *pair) turn(mode string) {
	p.once.Do(func() {
		do := takeovers[mode]
		go do(&ports{control: p.control.take(), data: p.data.take()})
	})
}
