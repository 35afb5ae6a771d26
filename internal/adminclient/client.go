package adminclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	restclient "k8s.io/client-go/rest"
)

// Client sends requests to one server. It is safe for concurrent use.
type Client struct {
	// Base is the URL of the server.
	Base *url.URL
	http *http.Client
}

// New returns a client of the server in config. timeout bounds each request; 0 means no limit.
func New(config *restclient.Config, timeout time.Duration) (*Client, error) {
	config.Timeout = timeout
	client, err := restclient.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := restclient.DefaultServerUrlFor(config)
	return &Client{Base: base, http: client}, err
}

// StatusError is a response whose code is not 2xx.
type StatusError struct {
	Status  string // "404 Not Found"
	Code    int
	Message string // the body, at most 64 KiB
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the server responds %s: %s", e.Status, e.Message)
}

// HasCode reports whether err is a StatusError with one of the codes.
func HasCode(err error, codes ...int) bool {
	var status *StatusError
	return errors.As(err, &status) && slices.Contains(codes, status.Code)
}

// maxMessage bounds StatusError.Message, in bytes. /readyz lists all checks in it.
const maxMessage = 64 << 10

// Send sends a request and returns the body of a 2xx response, which the caller closes. path may have
// a query; content is JSON, or nil. Other responses are a StatusError.
func (c *Client) Send(ctx context.Context, method, path string, content io.Reader) (io.ReadCloser, error) {
	ref, err := url.Parse(path)
	if err != nil {
		return nil, err
	}
	u := c.Base.JoinPath(ref.Path)
	u.RawQuery = ref.RawQuery
	req, err := http.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return nil, err
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	message, _ := io.ReadAll(io.LimitReader(resp.Body,
		maxMessage)) // errors are ignored: the body is only an explanation
	return nil, &StatusError{resp.Status, resp.StatusCode, strings.TrimSpace(string(message))}
}
