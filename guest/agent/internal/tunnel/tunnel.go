// Package tunnel forwards bytes between the host and a port on the guest's loopback interface.
package tunnel

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"mayfly/agent/internal/fault"
)

const dialTimeout = 5 * time.Second

// Register adds the tunnel request to mux.
func Register(mux *http.ServeMux) { mux.HandleFunc("POST /tunnels", post) }

func post(w http.ResponseWriter, r *http.Request) {
	port, err := strconv.ParseUint(r.URL.Query().Get("port"), 10, 16)
	if err != nil || port == 0 {
		fault.Send(w, fault.New("bad_request", "port must be a number from 1 to 65535"))
		return
	}
	conn, err := dial(r.Context(), strconv.FormatUint(port, 10))
	if err != nil {
		fault.Send(w, fault.New("refused", "%s", err))
		return
	}
	defer conn.Close()
	defer context.AfterFunc(r.Context(), func() { conn.Close() })()
	flush := http.NewResponseController(w).Flush
	w.Header().Set("content-type", "application/octet-stream")
	w.WriteHeader(http.StatusOK)
	flush()
	go upload(conn, r.Body)
	if !download(w, flush, conn) {
		panic(http.ErrAbortHandler) // a reset must not look like a clean end
	}
}

// dial tries IPv4, then IPv6, because servers may listen on either.
func dial(ctx context.Context, port string) (*net.TCPConn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		var err6 error
		if conn, err6 = d.DialContext(ctx, "tcp6", net.JoinHostPort("::1", port)); err6 != nil {
			return nil, err
		}
	}
	return conn.(*net.TCPConn), nil
}

// upload copies bytes from the host to the port. The end of the body becomes a half-close.
func upload(conn *net.TCPConn, body io.Reader) {
	_, err := io.CopyBuffer(struct{ io.Writer }{conn}, body, make([]byte, 64<<10))
	if err == nil {
		conn.CloseWrite()
	} else {
		conn.Close()
	}
}

// download copies bytes from the port to the host as they arrive. Reports whether it ended cleanly.
func download(w io.Writer, flush func() error, conn io.Reader) bool {
	buf := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil || flush() != nil {
				return false
			}
		}
		if err != nil {
			return err == io.EOF
		}
	}
}
