package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// attempts and firstPause limit how long a failing service delays a request.
	attempts   = 5
	firstPause = 500 * time.Millisecond
	// callTimeout is the default timeout of one attempt.
	callTimeout = 30 * time.Second
	maxResponse = 1 << 20
)

// Caller posts reviews to the server of a kubeconfig file.
type Caller struct {
	url    string
	client *http.Client
	pause  time.Duration
}

// Dial connects to a webhook; nil connects directly.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// NewCaller reads a kubeconfig file. The URL of its cluster's server is the URL of the webhook, its user has
// the credentials.
func NewCaller(kubeconfig string, dial Dial) (*Caller, error) {
	config, err := ReadKubeconfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Dial = dial
	return NewCallerFor(config, callTimeout)
}

// ReadKubeconfig returns the client configuration of a kubeconfig file.
func ReadKubeconfig(file string) (*rest.Config, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: file}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("webhook configuration %s: %w", file, err)
	}
	return config, nil
}

// NewCallerFor returns a caller for the host of a client configuration. timeout limits each attempt.
func NewCallerFor(config *rest.Config, timeout time.Duration) (*Caller, error) {
	config = rest.CopyConfig(config)
	config.Timeout = timeout
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("webhook at %s: %w", config.Host, err)
	}
	// The query gives the webhook the timeout of the server.
	address, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("webhook at %s: %w", config.Host, err)
	}
	query := address.Query()
	query.Set("timeout", timeout.String())
	address.RawQuery = query.Encode()
	return &Caller{url: address.String(), client: client, pause: firstPause}, nil
}

// Pausing returns a copy of the caller with another first pause.
func (c *Caller) Pausing(first time.Duration) *Caller {
	other := *c
	other.pause = first
	return &other
}

// Call posts review as JSON and decodes the response into it, which must be of the same version and kind if it names
// one. It retries connection resets, 429, and 5xx other than 503, with exponential backoff. Other errors delay the
// request no longer.
func (c *Caller) Call(ctx context.Context, review runtime.Object) error {
	sent := review.GetObjectKind().GroupVersionKind()
	body, err := json.Marshal(review)
	if err != nil {
		return err
	}
	if err := c.post(ctx, body, review, c.pause); err != nil {
		return err
	}
	if got := review.GetObjectKind().GroupVersionKind(); got != sent {
		return fmt.Errorf("the response is a %s instead of a %s", got, sent)
	}
	return nil
}

// Send posts a body and ignores the body of the response. It retries all errors with exponential backoff, so that
// nothing is lost; the first pause is pause.
func (c *Caller) Send(ctx context.Context, body []byte, pause time.Duration) error {
	return c.post(ctx, body, nil, pause)
}

// Close closes idle connections.
func (c *Caller) Close() { c.client.CloseIdleConnections() }

func (c *Caller) post(ctx context.Context, body []byte, into any, pause time.Duration) error {
	for i := 1; ; i++ {
		retry, err := c.once(ctx, body, into)
		if err == nil || !retry || i == attempts {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause += pause / 2
	}
}

func (c *Caller) once(ctx context.Context, body []byte, into any) (retry bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, */*")
	response, err := c.client.Do(r)
	if err != nil {
		retry = into == nil || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
		return retry && ctx.Err() == nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return true, err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		code := response.StatusCode
		retry = into == nil || code >= 500 && code != http.StatusServiceUnavailable || code == http.StatusTooManyRequests
		return retry, fmt.Errorf("webhook %s responded with %s", c.url, response.Status)
	}
	if into == nil {
		return false, nil
	}
	return false, json.Unmarshal(raw, into)
}
