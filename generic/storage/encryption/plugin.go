package encryption

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	kmsapi "k8s.io/kms/apis/v2"
)

const (
	defaultTimeout = 3 * time.Second
	// reconnectWithin is the longest pause between attempts to connect. It is short because local attempts are
	// cheap.
	reconnectWithin = 3 * time.Second
)

var (
	errNoKeyID   = errors.New("the status has an empty keyID")
	errLongKeyID = errors.New("the keyID of the status exceeds the max size")
)

// plugin calls a KMS plugin over its socket. Each call waits for the connection, is limited by the timeout, and
// is measured.
type plugin struct {
	name    string
	conn    *grpc.ClientConn
	client  kmsapi.KeyManagementServiceClient
	timeout time.Duration
}

func newPlugin(cfg *KMSConfiguration, m *Metrics) (*plugin, error) {
	conn, timeout, err := dialPlugin(cfg, m)
	if err != nil {
		return nil, err
	}
	return &plugin{name: cfg.Name, timeout: timeout, conn: conn, client: kmsapi.NewKeyManagementServiceClient(conn)}, nil
}

// dialPlugin returns a connection to a plugin, which is established on first use, and the timeout of calls.
func dialPlugin(cfg *KMSConfiguration, m *Metrics) (*grpc.ClientConn, time.Duration, error) {
	address, err := socketAddress(cfg.Endpoint)
	if err != nil {
		return nil, 0, err
	}
	timeout := defaultTimeout
	if cfg.Timeout != nil {
		timeout = cfg.Timeout.Duration
	}
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"), // like kube-apiserver: strict servers reject the path of a socket
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6,
			MaxDelay: reconnectWithin}, MinConnectTimeout: timeout}),
		grpc.WithUnaryInterceptor(m.observeCalls(cfg.Name)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", address)
		}),
	)
	if err != nil {
		return nil, 0, fmt.Errorf("kms provider %s: %w", cfg.Name, err)
	}
	return conn, timeout, nil
}

// close closes the connection. It only fails if that is closed already.
func (p *plugin) close() { _ = p.conn.Close() }

// status returns the plugin's current key ID, or an error if the plugin is not healthy.
func (p *plugin) status(ctx context.Context) (keyID string, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	s, err := p.client.Status(ctx, &kmsapi.StatusRequest{})
	switch {
	case err != nil:
		return "", err
	case s.Healthz != "ok":
		return "", fmt.Errorf("got unexpected healthz status: %s", s.Healthz)
	case s.Version != "v2" && s.Version != "v2beta1":
		return "", fmt.Errorf("unsupported KMS API version %q, want v2", s.Version)
	case s.KeyId == "":
		return "", errNoKeyID
	case len(s.KeyId) > maxKeyID:
		return "", errLongKeyID
	}
	return s.KeyId, nil
}

// encrypt returns an envelope without data for a seed.
func (p *plugin) encrypt(ctx context.Context, seed []byte) (*envelope, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	r, err := p.client.Encrypt(ctx, &kmsapi.EncryptRequest{Plaintext: seed, Uid: uuid.NewString()})
	if err != nil {
		return nil, fmt.Errorf("failed to encrypt DEK source: %w", err)
	}
	e := &envelope{keyID: r.KeyId, source: r.Ciphertext, annotations: r.Annotations, sourceType: sourceSeed}
	if err := e.validate(); err != nil {
		return nil, fmt.Errorf("the answer to the encrypt request is invalid: %w", err)
	}
	return e, nil
}

// decrypt returns the decrypted seed or key of an envelope.
func (p *plugin) decrypt(ctx context.Context, e *envelope) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	r, err := p.client.Decrypt(ctx, &kmsapi.DecryptRequest{
		Ciphertext: e.source, Uid: uuid.NewString(), KeyId: e.keyID, Annotations: e.annotations,
	})
	if err != nil {
		return nil, fmt.Errorf("failed to decrypt DEK, error: %w", err)
	}
	return r.Plaintext, nil
}

// observeCalls measures the calls of a plugin.
func (m *Metrics) observeCalls(name string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption) error {
		began := time.Now()
		err := invoke(ctx, method, req, reply, cc, opts...)
		m.calls.WithLabelValues(name, method, status.Code(err).String()).Observe(time.Since(began).Seconds())
		return err
	}
}
