package attach

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"
)

// newHTTPServer serves HTTP/2 only. Its flow-control windows keep large transfers moving and ensure that stalled streams do not
// block the others. It has no timeouts, so an idle session stays open.
func newHTTPServer(h http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:   h,
		Protocols: protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          1024,
			MaxReadFrameSize:              256 << 10,
			MaxReceiveBufferPerStream:     256 << 10,
			MaxReceiveBufferPerConnection: 96 << 20, // leaves room for other streams even if 256 tunnels are stalled
		},
		ErrorLog: log.New(os.Stderr, "mayfly: http ", 0),
	}
}

// listener passes the connections of sessions to the HTTP server.
type listener struct {
	conns chan net.Conn
	ctx   context.Context
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { return nil }
func (l *listener) Addr() net.Addr { return address{} }
