package etcd

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	grpcmetrics "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"k8s.io/klog/v2"
)

// Config configures the connection to an etcd cluster.
type Config struct {
	Endpoints []string // "https://host:2379"
	// CAFile, CertFile and KeyFile are the paths of PEM files; "" means none.
	CAFile, CertFile, KeyFile string
	// Timeout is how long Dial retries. It defaults to 20 seconds.
	Timeout time.Duration
	Leases  LeaseOptions
	// Dial connects to TCP endpoints; nil connects directly.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Calls counts gRPC calls; nil disables metrics.
	Calls *grpcmetrics.ClientMetrics
}

const (
	defaultTimeout = 20 * time.Second
	attemptTimeout = 5 * time.Second
	firstPause     = 50 * time.Millisecond
	longestPause   = 2 * time.Second
	keepAlive      = 30 * time.Second
	keepAliveLimit = 10 * time.Second
	// connectTimeout limits one attempt to connect.
	connectTimeout = 3 * time.Second
	// maxReceive is the largest possible size: the response of a range may contain the whole store. What is sent is
	// limited by the client's default of 2 MiB, as by kube-apiserver's, which could not update larger objects.
	maxReceive = 2<<30 - 1
)

// reconnect limits how long a restarted member stays unused. The default of gRPC is up to two minutes.
var reconnect = backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}

// Dial connects to etcd and waits until it responds. It logs failed attempts. The error after the timeout names
// the endpoints.
func Dial(ctx context.Context, cfg Config) (*Backend, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	client, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	b := New(client, cfg.Leases)
	if err := b.await(ctx, cfg); err != nil {
		_ = client.Close() // err is the cause
		return nil, err
	}
	return b, nil
}

// Client connects to etcd without waiting, for tools.
func Client(cfg Config) (*clientv3.Client, error) { return newClient(cfg) }

// await requests the current revision until a member responds.
func (b *Backend) await(ctx context.Context, cfg Config) error {
	deadline := time.Now().Add(cfg.Timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	pause := firstPause
	for {
		err := b.ping(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			klog.InfoS("Waiting for etcd", "endpoints", cfg.Endpoints, "err", err)
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return fmt.Errorf("etcd at %s cannot be reached within %v: %w", strings.Join(cfg.Endpoints, ","), cfg.Timeout, err)
		}
	}
}

// ping sends a request to etcd. Its error is the client's, which has the reason why no member can be reached.
func (b *Backend) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	_, err := b.kv.Range(ctx, &pb.RangeRequest{Key: []byte(CompactKey), CountOnly: true})
	return err
}

func newClient(cfg Config) (*clientv3.Client, error) {
	if len(cfg.Endpoints) == 0 {
		return nil, errors.New("no etcd endpoints given")
	}
	conf := clientv3.Config{
		Endpoints:            cfg.Endpoints,
		DialKeepAliveTime:    keepAlive,
		DialKeepAliveTimeout: keepAliveLimit,
		MaxCallRecvMsgSize:   maxReceive,
		Logger:               zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithUserAgent("triplane"),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: connectTimeout}),
		},
	}
	if cfg.Dial != nil {
		conf.DialOptions = append(conf.DialOptions, grpc.WithContextDialer(func(ctx context.Context,
			address string) (net.Conn, error) {
			if socket, ok := strings.CutPrefix(address, "unix:"); ok {
				return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(socket, "//"))
			}
			return cfg.Dial(ctx, "tcp", address)
		}))
	}
	if cfg.Calls != nil {
		conf.DialOptions = append(conf.DialOptions,
			grpc.WithChainUnaryInterceptor(cfg.Calls.UnaryClientInterceptor()),
			grpc.WithChainStreamInterceptor(cfg.Calls.StreamClientInterceptor()))
	}
	if err := secure(&conf, cfg); err != nil {
		return nil, err
	}
	client, err := clientv3.New(conf)
	if err != nil {
		return nil, fmt.Errorf("etcd client for %s: %w", strings.Join(cfg.Endpoints, ","), err)
	}
	return client, nil
}

// secure configures TLS if there are files or an https endpoint.
func secure(conf *clientv3.Config, cfg Config) error {
	for _, f := range []struct{ flag, file string }{{"--etcd-cafile", cfg.CAFile}, {"--etcd-certfile", cfg.CertFile},
		{"--etcd-keyfile", cfg.KeyFile}} {
		if f.file == "" {
			continue
		}
		data, err := os.ReadFile(f.file)
		if err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
		if block, _ := pem.Decode(data); block == nil {
			return fmt.Errorf("%s: %s holds no PEM data", f.flag, f.file)
		}
	}
	info := transport.TLSInfo{CertFile: cfg.CertFile, KeyFile: cfg.KeyFile, TrustedCAFile: cfg.CAFile}
	if info.Empty() && cfg.CAFile == "" && !anyHTTPS(cfg.Endpoints) {
		return nil
	}
	tlsConfig, err := info.ClientConfig()
	if err != nil {
		return fmt.Errorf("--etcd-certfile %s and --etcd-keyfile %s: %w", cfg.CertFile, cfg.KeyFile, err)
	}
	conf.TLS = tlsConfig
	return nil
}

func anyHTTPS(endpoints []string) bool {
	for _, e := range endpoints {
		if strings.HasPrefix(e, "https://") || strings.HasPrefix(e, "unixs://") {
			return true
		}
	}
	return false
}
