package egresstest

import (
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"sigs.k8s.io/apiserver-network-proxy/konnectivity-client/proto/client"
)

// Asked notes where a proxy was asked to connect. It may be used concurrently.
type Asked struct {
	// Route, where set, says where to connect instead: a name that only the proxy knows.
	Route func(address string) string

	mu        sync.Mutex
	addresses []string
}

// Addresses are those asked for so far.
func (a *Asked) Addresses() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.addresses...)
}

func (a *Asked) dial(address string) (net.Conn, error) {
	a.mu.Lock()
	a.addresses = append(a.addresses, address)
	a.mu.Unlock()
	if a.Route != nil {
		address = a.Route(address)
	}
	return net.Dial("tcp", address)
}

// HTTPConnect serves HTTP CONNECT on a listener until the test ends.
func HTTPConnect(t testing.TB, l net.Listener) *Asked {
	asked := &Asked{}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		to, err := asked.dial(r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			to.Close()
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n")
		join(from, to)
	})}
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		_ = s.Close()
		served.Wait()
	})
	return asked
}

// join copies between two connections until one ends.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		to.Close()
		from.Close()
	}
	both.Go(func() { pipe(a, b) })
	both.Go(func() { pipe(b, a) })
	both.Wait()
}

// Konnectivity serves the API of a konnectivity server on a listener until the test
// ends.
func Konnectivity(t testing.TB, l net.Listener, options ...grpc.ServerOption) *Asked {
	asked := &Asked{}
	s := grpc.NewServer(options...)
	client.RegisterProxyServiceServer(s, &konnectivity{asked: asked})
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		s.Stop()
		served.Wait()
	})
	return asked
}

type konnectivity struct {
	client.UnimplementedProxyServiceServer
	asked *Asked
}

// connectID is that of the one connection of a tunnel.
const connectID = 1

// Proxy implements client.ProxyServiceServer, for one connection.
func (k *konnectivity) Proxy(stream client.ProxyService_ProxyServer) error {
	var to net.Conn
	var reading sync.WaitGroup
	defer func() {
		if to != nil {
			to.Close()
		}
		reading.Wait()
	}()
	for {
		p, err := stream.Recv()
		if err != nil {
			return nil
		}
		switch p.Type {
		case client.PacketType_DIAL_REQ:
			answer := &client.DialResponse{ConnectID: connectID, Random: p.GetDialRequest().Random}
			if to, err = k.asked.dial(p.GetDialRequest().Address); err != nil {
				answer.Error = err.Error()
			}
			if err := stream.Send(&client.Packet{Type: client.PacketType_DIAL_RSP, Payload: &client.Packet_DialResponse{DialResponse: answer}}); err != nil {
				return err
			}
			if to != nil {
				reading.Go(func() { send(stream, to) })
			}
		case client.PacketType_DATA:
			if _, err := to.Write(p.GetData().Data); err != nil {
				return err
			}
		case client.PacketType_CLOSE_REQ:
			to.Close()
		}
	}
}

// send passes on what a connection says, and its end.
func send(stream client.ProxyService_ProxyServer, from net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			data := &client.Data{ConnectID: connectID, Data: append([]byte(nil), buf[:n]...)}
			if stream.Send(&client.Packet{Type: client.PacketType_DATA, Payload: &client.Packet_Data{Data: data}}) != nil {
				return
			}
		}
		if err != nil {
			end := &client.CloseResponse{ConnectID: connectID}
			_ = stream.Send(&client.Packet{Type: client.PacketType_CLOSE_RSP, Payload: &client.Packet_CloseResponse{CloseResponse: end}})
			return
		}
	}
}
