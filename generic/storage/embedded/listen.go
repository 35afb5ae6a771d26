package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"triplane/internal/worker"
)

// minPing is etcd's own default: how often a client may ask whether the connection is still good.
const minPing = 5 * time.Second

// Serve serves etcd's client API on the listener, until Close. Without a TLS
// configuration it is neither encrypted nor authenticated.
//
// Clients are etcd's administrators: they read and write everything, past authorization and admission of
// the API server. What would take the store from this process is refused: etcd's own users, and other members
// where there is no Peer.
func (s *Server) Serve(listener net.Listener, config *tls.Config) {
	s.backend.shared.Store(true)
	s.rpc = v3rpc.Server(s.etcd, config, s.backend.space.guard,
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: false}))
	worker.Go(func() {
		if err := s.rpc.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			klog.ErrorS(err, "The embedded etcd does not listen any more", "address", listener.Addr().String())
		}
	})
}

// refused returns why a method is refused to clients, "" where it is not.
func refused(method string, clustered bool) string {
	switch {
	case clustered && strings.HasPrefix(method, "/etcdserverpb.Cluster/"), clustered && strings.HasSuffix(method, "/MoveLeader"):
		return ""
	case strings.HasPrefix(method, "/etcdserverpb.Cluster/") && !strings.HasSuffix(method, "/MemberList"),
		strings.HasSuffix(method, "/MoveLeader"):
		return "the embedded etcd is the only member of its cluster"
	case strings.HasPrefix(method, "/etcdserverpb.Auth/") && !strings.HasSuffix(method, "/AuthStatus"):
		return "the embedded etcd has no users"
	case strings.HasSuffix(method, "/Downgrade"):
		return "the embedded etcd is of the server's version"
	}
	return ""
}

// guard is the interceptor of calls: it refuses methods that are not for clients, and writes that there is
// no room for, as those of the API server are.
func (s *space) guard(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if why := refused(info.FullMethod, s.clustered); why != "" {
		return nil, status.Error(codes.FailedPrecondition, why)
	}
	var txn *pb.TxnRequest
	switch r := request.(type) {
	case *pb.PutRequest:
		txn = &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: r}}}}
	case *pb.TxnRequest:
		txn = &pb.TxnRequest{Success: append(r.Success[:len(r.Success):len(r.Success)], r.Failure...)}
	default:
		return handle(ctx, request)
	}
	if err := s.admit(txn); err != nil {
		return nil, rpctypes.ErrGRPCNoSpace
	}
	return handle(ctx, request)
}

// Loopback returns an error unless the host of an address is a loopback IP.
func Loopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s is not a loopback address", host)
	}
	return nil
}
