package kubelet

import (
	"context"
	"io"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/proxy"

	"triplane.dev/generic/api/rest"
)

// Upgrade passes a request that upgrades its connection on to a kubelet as it is.
// Others are refused.
func (c *Client) Upgrade(location *url.URL, r rest.Responder) http.Handler {
	h := proxy.NewUpgradeAwareHandler(location, c.Transport(), false, true, proxy.NewErrorResponder(r))
	h.MaxBytesPerSec = c.config.MaxBytesPerSecond
	return h
}

// Log is a container's log as a kubelet sends it.
type Log struct {
	Client   *Client
	Location *url.URL
	// Insecure does not verify the kubelet.
	Insecure bool
	// Follow sends each piece at once.
	Follow bool
	// Pod is for errors.
	Pod string
}

// GetObjectKind implements runtime.Object.
func (*Log) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (l *Log) DeepCopyObject() runtime.Object {
	c := *l
	return &c
}

// maxError bounds what is read of a kubelet's answer that is an error.
const maxError = 2048

// InputStream implements rest.Streamer. A kubelet that cannot be reached is an
// error with its URL; an answer that is an error is one with its status and text.
func (l *Log) InputStream(ctx context.Context, _, _ string) (io.ReadCloser, bool, string, error) {
	transport := l.Client.Transport()
	if l.Insecure {
		transport = l.Client.InsecureTransport()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.Location.String(), nil)
	if err != nil {
		return nil, false, "", err
	}
	client := &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return nil, false, "", err
	}
	if err := l.check(resp); err != nil {
		resp.Body.Close()
		return nil, false, "", err
	}
	return resp.Body, l.Follow, "text/plain", nil
}

func (l *Log) check(resp *http.Response) error {
	if resp.StatusCode >= http.StatusOK && resp.StatusCode <= http.StatusPartialContent {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	switch text := string(body); resp.StatusCode {
	case http.StatusInternalServerError:
		return apierrors.NewInternalError(textError(text))
	case http.StatusBadRequest:
		return apierrors.NewBadRequest(text)
	default:
		return apierrors.NewGenericServerResponse(resp.StatusCode, http.MethodGet, schema.GroupResource{Resource: "pods/log"},
			l.Pod, text, 0, false)
	}
}

// textError is an error that says what a kubelet said.
type textError string

func (e textError) Error() string { return string(e) }
