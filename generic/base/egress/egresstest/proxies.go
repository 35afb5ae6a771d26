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

// Recorder records the addresses that a proxy connected to. It is safe for concurrent use.
type Recorder struct {
	// Route, if set, maps an address to the one to connect to, for names that only the proxy can resolve.
	Route func(address string) string

	mu        sync.Mutex
	addresses []string
}

// Addresses returns the addresses so far.
func (a *Recorder) Addresses() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.addresses...)
}

func (a *Recorder) dial(address string) (net.Conn, error) {
	a.mu.Lock()
	a.addresses = append(a.addresses, address)
	a.mu.Unlock()
	if a.Route != nil {
		address = a.Route(address)
	}
	return net.Dial("tcp", address)
}

// HTTPConnect serves HTTP CONNECT on a listener until the test ends.
func HTTPConnect(t testing.TB, l net.Listener) *Recorder {
	recorder := &Recorder{}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		to, err := recorder.dial(r.Host)
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
	return recorder
}

// join copies between two connections until one is closed.
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

// Konnectivity serves the API of a konnectivity server on a listener until the test ends.
func Konnectivity(t testing.TB, l net.Listener, options ...grpc.ServerOption) *Recorder {
	recorder := &Recorder{}
	s := grpc.NewServer(options...)
	client.RegisterProxyServiceServer(s, &konnectivity{recorder: recorder})
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		s.Stop()
		served.Wait()
	})
	return recorder
}

type konnectivity struct {
	client.UnimplementedProxyServiceServer
	recorder *Recorder
}

// connectID is the ID of a tunnel's only connection.
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
			response := &client.DialResponse{ConnectID: connectID, Random: p.GetDialRequest().Random}
			if to, err = k.recorder.dial(p.GetDialRequest().Address); err != nil {
				response.Error = err.Error()
			}
			if err := stream.Send(&client.Packet{Type: client.PacketType_DIAL_RSP,
				Payload: &client.Packet_DialResponse{DialResponse: response}}); err != nil {
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

// send forwards the data of a connection until it is closed.
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
			_ = stream.Send(&client.Packet{Type: client.PacketType_CLOSE_RSP,
				Payload: &client.Packet_CloseResponse{CloseResponse: end}})
			return
		}
	}
}
