package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// remote is a server that a command asks.
type remote struct {
	base   *url.URL
	client *http.Client
}

// parse reads the flags of a command. help reports that its usage was asked for, and printed.
func parse(fs *pflag.FlagSet, usage string, args []string, out io.Writer) (help bool, err error) {
	fs.SetOutput(out)
	fs.Usage = func() { _, _ = fmt.Fprint(out, usage, "\nFlags:\n", fs.FlagUsages()) }
	if err = fs.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return true, nil
	}
	return false, err
}

// remoteFlags are the flags of commands that ask a server.
type remoteFlags struct{ dir, kubeconfig string }

func (f *remoteFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.dir, "data-dir", NewOptions().DataDir, "The data directory of the server.")
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "How to reach the server, as whom. If blank, as the administrator of the data directory.")
}

// path of the kubeconfig: that of the flag, or the administrator's.
func (f *remoteFlags) path() string {
	return cmp.Or(f.kubeconfig, filepath.Join(f.dir, kubeconfigFile))
}

// connect makes a client; timeout bounds each request, 0 does not.
func (f *remoteFlags) connect(timeout time.Duration) (*remote, error) {
	config, err := clientcmd.BuildConfigFromFlags("", f.path())
	if err != nil {
		return nil, fmt.Errorf("no way to a server: %w", err)
	}
	return newRemote(config, timeout)
}

func newRemote(config *restclient.Config, timeout time.Duration) (*remote, error) {
	config.Timeout = timeout
	client, err := restclient.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := restclient.DefaultServerUrlFor(config)
	return &remote{base: base, client: client}, err
}

// refusal is an answer that is no success.
type refusal struct {
	status  string
	code    int
	message string
}

func (e *refusal) Error() string {
	return fmt.Sprintf("the server answers %s: %s", e.status, e.message)
}

// wasRefused reports whether an error is an answer with one of the codes.
func wasRefused(err error, codes ...int) bool {
	var r *refusal
	return errors.As(err, &r) && slices.Contains(codes, r.code)
}

// maxRefusal bounds what is read of an answer that is no success. /readyz lists all checks in it.
const maxRefusal = 64 << 10

// send asks for a path, which may have a query, with JSON, or nil, and returns the body of a success.
func (r *remote) send(ctx context.Context, method, path string, content io.Reader) (io.ReadCloser, error) {
	ref, err := url.Parse(path)
	if err != nil {
		return nil, err
	}
	u := r.base.JoinPath(ref.Path)
	u.RawQuery = ref.RawQuery
	req, err := http.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return nil, err
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	message, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // it only explains
	return nil, &refusal{status: resp.Status, code: resp.StatusCode, message: strings.TrimSpace(string(message))}
}
