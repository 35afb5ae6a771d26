package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/etcdserver/api/etcdhttp"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"triplane.dev/internal/worker"
)

// minPing is the minimum interval of a client's keepalive pings. It is etcd's default.
const minPing = 5 * time.Second

// Serve serves etcd's client API on the listener until Close. Without a TLS configuration connections are
// neither encrypted nor authenticated.
//
// Clients are administrators of etcd: they can read and write everything, without authorization and admission
// by the API server. Methods that would break this process's use of the store are rejected: etcd's own users
// and, without a Peer, other members.
func (s *Server) Serve(listener net.Listener, config *tls.Config) {
	s.backend.shared.Store(true)
	s.rpc = v3rpc.Server(s.etcd, config, s.guard,
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: false}))
	worker.Go(func() {
		if err := s.rpc.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			klog.ErrorS(err, "Stopped listening for clients of the embedded etcd", "address", listener.Addr().String())
		}
	})
}

// Handler serves the paths that etcd has beside its client API: /health, /livez, /readyz, /version and /metrics.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	etcdhttp.HandleHealth(newLogger(), mux, s.etcd)
	etcdhttp.HandleVersion(mux, s.etcd)
	etcdhttp.HandleMetrics(mux)
	return mux
}

// forbidden returns the error message if clients must not call a method, and "" otherwise.
func forbidden(method string, clustered bool) string {
	switch {
	case clustered && strings.HasPrefix(method, "/etcdserverpb.Cluster/"),
		clustered && strings.HasSuffix(method, "/MoveLeader"):
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

// guard is the gRPC interceptor for clients. It rejects forbidden methods, and writes for which there is no
// space.
func (s *Server) guard(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any,
	error) {
	if why := forbidden(info.FullMethod, s.clustered); why != "" {
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
	if err := s.backend.space.admit(txn); err != nil {
		return nil, rpctypes.ErrGRPCNoSpace
	}
	if err := s.log.Admit(ctx, putBytes(txn)); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
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
