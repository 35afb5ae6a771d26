package kubelet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	gwebsocket "github.com/gorilla/websocket"
	constants "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"triplane.dev/generic/api/rest"
	"triplane.dev/internal/worker"
)

// PortForward connects a client to ports of a pod. SPDY and the WebSocket protocol
// that kubelets speak are passed on as they are; SPDY in a WebSocket is taken out
// of it (KEP 4006).
func (c *Client) PortForward(location *url.URL, r rest.Responder) http.Handler {
	passed := c.Upgrade(location, r)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !wsstream.IsWebSocketRequestWithTunnelingProtocol(req) {
			passed.ServeHTTP(w, req)
			return
		}
		if err := c.tunnel(w, req, location); err != nil {
			r.Error(err)
		}
	})
}

// tunnel carries SPDY between the client's WebSocket and the kubelet. An error
// means that nothing was answered yet.
func (c *Client) tunnel(w http.ResponseWriter, req *http.Request, location *url.URL) error {
	upstream, rest, err := c.dialSPDY(req.Context(), location)
	if err != nil {
		return err
	}
	defer upstream.Close()
	upgrader := gwebsocket.Upgrader{
		Subprotocols: []string{constants.WebsocketsSPDYTunnelingPortForwardV1},
		CheckOrigin:  func(*http.Request) bool { return true }, // the filters have authenticated it
	}
	socket, err := upgrader.Upgrade(w, req, nil)
	if err != nil {
		return nil // the upgrader has answered
	}
	client := portforward.NewTunnelingConnection("server", socket)
	done := make(chan struct{})
	worker.Go(func() {
		defer close(done)
		_, _ = io.Copy(upstream, client)
		upstream.Close()
	})
	_, _ = io.Copy(client, rest)
	_ = client.Close() // both directions are over
	<-done
	return nil
}

// dialSPDY upgrades a connection to a kubelet to SPDY. What the kubelet sends
// behind its answer is read from the returned reader.
func (c *Client) dialSPDY(ctx context.Context, location *url.URL) (net.Conn, io.Reader, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, location.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set(httpstream.HeaderConnection, httpstream.HeaderUpgrade)
	req.Header.Set(httpstream.HeaderUpgrade, spdy.HeaderSpdy31)
	req.Header.Set(httpstream.HeaderProtocolVersion, constants.PortForwardV1Name)
	conn, err := proxy.DialURL(ctx, location, c.Transport())
	if err != nil {
		return nil, nil, fmt.Errorf("error dialing backend: %w", err)
	}
	if err := req.Write(conn); err != nil {
		conn.Close()
		return nil, nil, err
	}
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, req) //nolint:bodyclose // its body is the connection, which is closed or handed over
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("error reading the answer of %s: %w", location.Host, err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer conn.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
		return nil, nil, fmt.Errorf("unable to upgrade the connection to %s: %s: %s", location.Host, resp.Status, body)
	}
	return conn, reader, nil
}
