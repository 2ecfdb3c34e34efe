package machine

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"mayfly/net/internal/dnsmsg"
)

// serveUDP answers datagrams. It drops those over the limits; the guest's resolver retries.
func (m *Machine) serveUDP() {
	buffer := make([]byte, dnsmsg.MaxQueryBytes+1)
	for {
		length, client, err := m.udp.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(pauseAfterError)
			continue
		}
		if !m.rate.take() {
			continue
		}
		select {
		case m.pending <- struct{}{}:
			go m.answerDatagram(append([]byte(nil), buffer[:length]...), client)
		default:
		}
	}
}

func (m *Machine) answerDatagram(message []byte, client netip.AddrPort) {
	defer func() { <-m.pending }()
	if reply := m.answer(message, true); reply != nil {
		_, _ = m.udp.WriteToUDPAddrPort(reply, client)
	}
}

// serveTCP accepts connections. It closes those over the limit immediately.
func (m *Machine) serveTCP() {
	for {
		conn, err := m.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(pauseAfterError)
			continue
		}
		select {
		case m.connections <- struct{}{}:
			go m.serveConnection(conn)
		default:
			conn.Close()
		}
	}
}

func (m *Machine) serveConnection(conn net.Conn) {
	defer func() { <-m.connections }()
	if !m.track(conn) {
		return
	}
	defer m.untrack(conn)
	for {
		message, err := readFrame(conn)
		if err != nil || !m.rate.take() {
			return
		}
		reply := m.answer(message, false)
		if reply == nil {
			return
		}
		framed := binary.BigEndian.AppendUint16(nil, uint16(len(reply)))
		if _, err := conn.Write(append(framed, reply...)); err != nil {
			return
		}
	}
}

// track records an open connection. It returns false if the machine was closed meanwhile.
func (m *Machine) track(conn net.Conn) bool {
	m.connsMu.Lock()
	defer m.connsMu.Unlock()
	if m.conns == nil {
		conn.Close()
		return false
	}
	m.conns[conn] = true
	return true
}

func (m *Machine) untrack(conn net.Conn) {
	m.connsMu.Lock()
	defer m.connsMu.Unlock()
	delete(m.conns, conn)
	conn.Close()
}

func readFrame(conn net.Conn) ([]byte, error) {
	if err := conn.SetDeadline(time.Now().Add(connectionIdleFor)); err != nil {
		return nil, err
	}
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint16(length[:])
	if size > dnsmsg.MaxQueryBytes {
		return nil, errors.New("query too long")
	}
	message := make([]byte, size)
	_, err := io.ReadFull(conn, message)
	return message, err
}
