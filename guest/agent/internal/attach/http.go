package attach

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"
)

// newHTTPServer speaks HTTP/2 only, with windows that keep large transfers moving and let no number of stuck ones
// hold the rest up, and no timeout that ends a quiet session.
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
			MaxReceiveBufferPerConnection: 96 << 20, // over 256 tunnels that nobody reads there is room for everything else
		},
		ErrorLog: log.New(os.Stderr, "mayfly: http ", 0),
	}
}

// listener hands the sessions' connections to the HTTP server.
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
