package egress

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"sigs.k8s.io/apiserver-network-proxy/konnectivity-client/pkg/client"
)

// konnectivity dials through a konnectivity server, which connects through agents in the cluster.
type konnectivity struct {
	*proxy
	life context.Context //nolint:containedctx // closes the tunnels when it ends
}

// dial opens a tunnel for a single connection.
func (k konnectivity) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	secure := insecure.NewCredentials()
	if k.tls != nil {
		secure = credentials.NewTLS(k.tls)
	}
	life, end := context.WithCancel(k.life)
	// Creating the tunnel waits for the connection with the context life. ctx must end it, too.
	stop := context.AfterFunc(ctx, end)
	tunnel, err := client.CreateSingleUseGrpcTunnelWithContext(ctx, life, "passthrough:///"+k.address,
		grpc.WithTransportCredentials(secure),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return k.open(ctx) }))
	if err != nil {
		end()
		return nil, &dialError{stageConnect, fmt.Errorf("konnectivity server %q: %w", k.address, err)}
	}
	conn, err := tunnel.DialContext(ctx, network, address)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		end()
		return nil, &dialError{stageProxy, fmt.Errorf("konnectivity server %q: connecting to %s: %w", k.address, address,
			err)}
	}
	return tunnelConn{conn, end}, nil
}

// tunnelConn closes its tunnel when it is closed.
type tunnelConn struct {
	net.Conn
	end context.CancelFunc
}

// Close implements net.Conn.
func (c tunnelConn) Close() error {
	defer c.end()
	return c.Conn.Close()
}
