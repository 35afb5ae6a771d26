package triplane

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"triplane.dev/generic/run/host"
	"triplane.dev/generic/run/pki"
	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/internal/adminclient"
)

// Join configures how the embedded etcd joins the cluster of another server.
type Join struct {
	// Server is the URL of the other server; "" disables joining.
	Server string
	// Kubeconfig is the file with its CA and the credentials.
	Kubeconfig string
}

const (
	// joinRetryInterval is the pause between requests.
	joinRetryInterval = time.Second
	// joinRequest bounds one request.
	joinRequest = 15 * time.Second
)

func (j *Join) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&j.Server, "join", j.Server,
		"The URL of a server with --embedded-etcd-peer-listen. This server's embedded etcd joins its cluster, "+
			"and gets its data, CAs and token keys. It is ignored if the data directory contains a member. Needs "+
			"--join-kubeconfig and --embedded-etcd-peer-listen.")
	fs.StringVar(&j.Kubeconfig, "join-kubeconfig", j.Kubeconfig,
		"Kubeconfig for --join with the CA of that server, for example from triplane kubeconfig. Its user must "+
			"be allowed to post to "+filters.MembersPath+", as only administrators are.")
}

// validateJoin returns an error for each invalid value.
func (o *Options) validateJoin() []error {
	j := o.Join
	if j.Server == "" && j.Kubeconfig == "" {
		return nil
	}
	u, err := url.Parse(j.Server)
	switch {
	case j.Server == "" || j.Kubeconfig == "":
		return []error{errors.New("--join and --join-kubeconfig must be given together")}
	case err != nil || u.Scheme != "https" || u.Host == "":
		return []error{fmt.Errorf("--join: %q is not a URL such as https://10.0.0.1:6443", j.Server)}
	case !o.Etcd.MayHavePeers():
		return []error{errors.New("--join needs --embedded-etcd-peer-listen")}
	case o.Etcd.Member.Initial != "":
		return []error{errors.New("--join and --embedded-etcd-initial-cluster exclude each other: one joins a " +
			"cluster, the other creates one")}
	}
	return nil
}

// join adds this server to the cluster of another one and writes the shared keys, unless the data directory
// contains a member already. It can be retried after an interruption.
func (o *Options) join(ctx context.Context) error {
	if o.Join.Server == "" {
		return nil
	}
	begun, err := embedded.Begun(filepath.Join(o.DataDir, "etcd"))
	if err != nil {
		return err
	}
	if begun {
		klog.V(2).InfoS("Ignored --join: the data directory contains a member", "directory", o.DataDir)
		return nil
	}
	self := host.Joining{}
	if self.Name, self.URL, err = o.Etcd.Member.Self(); err != nil {
		return err
	}
	joined, err := o.requestJoin(ctx, self)
	if err != nil {
		return fmt.Errorf("--join %s: %w", o.Join.Server, err)
	}
	if err := pki.WriteShared(filepath.Join(o.DataDir, "pki"), joined.Keys); err != nil {
		return err
	}
	var initial []string
	for _, m := range joined.Members {
		name := cmp.Or(m.Name, m.ID)
		if m.URL == self.URL {
			name = self.Name
		}
		initial = append(initial, name+"="+m.URL)
	}
	o.Etcd.Member.Initial, o.Etcd.Member.Joining = strings.Join(initial, ","), true
	return nil
}

// requestJoin retries until it gets a response, or until ctx is done.
func (o *Options) requestJoin(ctx context.Context, self host.Joining) (joined host.Joined, err error) {
	config, err := clientcmd.BuildConfigFromFlags(o.Join.Server, o.Join.Kubeconfig)
	if err != nil {
		return joined, err
	}
	server, err := adminclient.New(config, joinRequest)
	if err != nil {
		return joined, err
	}
	question, err := json.Marshal(self)
	if err != nil {
		return joined, err
	}
	within, cancel := context.WithTimeout(ctx, o.Etcd.InitializationTimeout)
	defer cancel()
	for {
		answer, err := server.Send(within, http.MethodPost, filters.MembersPath, bytes.NewReader(question))
		if err == nil {
			err = json.NewDecoder(answer).Decode(&joined)
			return joined, errors.Join(err, answer.Close())
		}
		var refused *adminclient.StatusError
		if errors.As(err, &refused) && !adminclient.HasCode(err, http.StatusServiceUnavailable,
			http.StatusTooManyRequests, http.StatusGatewayTimeout) {
			return joined, err
		}
		klog.InfoS("Failed to join the cluster, will retry", "server", o.Join.Server, "err", err)
		select {
		case <-time.After(joinRetryInterval):
		case <-within.Done():
			return joined, err
		}
	}
}
