// Package upstream asks the host's own resolvers.
package upstream

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"mayfly/net/internal/dnsmsg"
)

const (
	// MaxServers is the number of the host's name servers that are asked, as in libc.
	MaxServers = 3
	// Rounds is how many times each server is asked.
	Rounds = 2
	// serverTimeout is how long one server may take to answer.
	serverTimeout = 2 * time.Second
	// maxResponseBytes is the longest response accepted over UDP.
	maxResponseBytes = 4096
)

var errNoServer = errors.New("no server answered")

// Servers connects to the host's name servers, which it counts from 0. A connection to a server that the host does not have fails.
type Servers interface {
	Dial(ctx context.Context, server int, network string) (net.Conn, error)
}

// Exchange asks the servers one after another until one answers the query.
func Exchange(ctx context.Context, servers Servers, query dnsmsg.Query, overUDP bool) ([]byte, error) {
	for range Rounds {
		for server := range MaxServers {
			response, err := ask(ctx, servers, server, query, overUDP)
			if err == nil {
				return response, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
	}
	return nil, errNoServer
}

func ask(ctx context.Context, servers Servers, server int, query dnsmsg.Query, overUDP bool) ([]byte, error) {
	network := "tcp"
	if overUDP {
		network = "udp"
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	conn, err := servers.Dial(ctx, server, network)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	var random [2]byte
	_, _ = rand.Read(random[:])
	id := binary.BigEndian.Uint16(random[:])
	if overUDP {
		return askDatagram(conn, query, id)
	}
	return askStream(conn, query, id)
}

func askDatagram(conn net.Conn, query dnsmsg.Query, id uint16) ([]byte, error) {
	if _, err := conn.Write(query.Upstream(id)); err != nil {
		return nil, err
	}
	buffer := make([]byte, maxResponseBytes)
	for {
		length, err := conn.Read(buffer)
		if err != nil {
			return nil, err
		}
		if query.IsAnswered(buffer[:length], id) {
			return buffer[:length], nil
		}
	}
}

func askStream(conn net.Conn, query dnsmsg.Query, id uint16) ([]byte, error) {
	message := query.Upstream(id)
	framed := binary.BigEndian.AppendUint16(nil, uint16(len(message)))
	if _, err := conn.Write(append(framed, message...)); err != nil {
		return nil, err
	}
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	response := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, response); err != nil {
		return nil, err
	}
	if !query.IsAnswered(response, id) {
		return nil, errNoServer
	}
	return response, nil
}
