package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"triplane.dev/generic/serve/filters"
	"triplane.dev/internal/adminclient"
	"triplane.dev/internal/platform"
)

const (
	// joinRetryInterval is the pause between requests.
	joinRetryInterval = time.Second
	// joinRequest bounds one request.
	joinRequest = 15 * time.Second
	// joinDial bounds one connection to an address, to find out whether a server listens there.
	joinDial = 3 * time.Second
)

// FindCluster reports whether a server listens at the URL of --join: the cluster then exists. It retries until this is
// known for all addresses, or until ctx is done.
func FindCluster(ctx context.Context, server string) (bool, error) {
	u, err := url.Parse(server)
	if err != nil {
		return false, err
	}
	for {
		found, err := listens(ctx, u.Hostname(), cmp.Or(u.Port(), "443"))
		if found || err == nil {
			return found, nil
		}
		klog.InfoS("Failed to find out whether the cluster exists, will retry", "server", server, "err", err)
		select {
		case <-time.After(joinRetryInterval):
		case <-ctx.Done():
			return false, fmt.Errorf("--join %s: this server would create a cluster, but it is unknown whether one "+
				"exists: %w", server, err)
		}
	}
}

// listens reports whether a process listens on a port of any address of a host. It returns an error if an address
// neither accepts nor refuses connections. A name that does not exist has no addresses.
func listens(ctx context.Context, name, port string) (bool, error) {
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	var unknown *net.DNSError
	if errors.As(err, &unknown) && unknown.IsNotFound {
		return false, nil
	}
	for _, address := range addresses {
		dialer := net.Dialer{Timeout: joinDial}
		conn, dialErr := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address, port))
		if dialErr == nil {
			return true, conn.Close()
		}
		if !platform.IsRefused(dialErr) {
			err = dialErr
		}
	}
	return false, err
}

// RequestJoin requests the server of a configuration to add a member, and returns the response. It retries while the
// server is unavailable, until ctx is done.
func RequestJoin(ctx context.Context, config *restclient.Config, self Joining) (joined Joined, err error) {
	server, err := adminclient.New(config, joinRequest)
	if err != nil {
		return joined, err
	}
	question, err := json.Marshal(self)
	if err != nil {
		return joined, err
	}
	for {
		answer, err := server.Send(ctx, http.MethodPost, filters.MembersPath, bytes.NewReader(question))
		if err == nil {
			err = json.NewDecoder(answer).Decode(&joined)
			return joined, errors.Join(err, answer.Close())
		}
		var refused *adminclient.StatusError
		if errors.As(err, &refused) && !adminclient.HasCode(err, http.StatusServiceUnavailable,
			http.StatusTooManyRequests, http.StatusGatewayTimeout) {
			return joined, err
		}
		klog.InfoS("Failed to join the cluster, will retry", "server", config.Host, "err", err)
		select {
		case <-time.After(joinRetryInterval):
		case <-ctx.Done():
			return joined, err
		}
	}
}
