package aggregator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/base/user"
)

const (
	// fetchTimeout bounds the background requests to external API servers.
	fetchTimeout = 5 * time.Second
	// maxDocument bounds the size of an external server's documents in bytes.
	maxDocument = 16 << 20
)

// aggregatorUser is the user of requests for documents of external servers.
var aggregatorUser = &user.Info{Name: "system:kube-aggregator", Groups: []string{user.SystemPrivileged}}

// fetcher requests documents of external API servers as the aggregator's user.
type fetcher struct {
	resolver ServiceResolver
	cert     ClientCertificate
	dial     egress.Dial

	certificates *egress.CertificateMetrics
}

// statusError is a response with an error status.
type statusError struct {
	url  string
	code int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("failing or missing response from %s: bad status from %s: %d", e.url, e.url, e.code)
}

// get returns the document at a path of an APIService's server. accept is its media type, "" lets the server
// choose. Each call opens a new connection, because availability includes the connection.
func (f *fetcher) get(ctx context.Context, s *apiregistrationv1.APIService, path, accept string) ([]byte, error) {
	t, err := newTransport(s, f.cert, f.dial)
	if err != nil {
		return nil, err
	}
	defer t.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	ref := s.Spec.Service
	u, err := f.resolver.ResolveEndpoint(ref.Namespace, ref.Name, port(s))
	if err != nil {
		return nil, err
	}
	u.Path = path
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	newIdentity(IdentityHeaders{}).setUser(r, aggregatorUser)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	resp, err := egress.CheckCertificates(t, f.certificates).RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("failing or missing response from %s: Get %q: %w", u, u, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, &statusError{u.String(), resp.StatusCode}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	if err != nil {
		return nil, fmt.Errorf("failing or missing response from %s: %w", u, err)
	}
	return body, nil
}
