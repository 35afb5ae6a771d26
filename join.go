package triplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"triplane.dev/generic/run/host"
	"triplane.dev/generic/run/pki"
	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/storage/embedded"
)

// Join configures how the embedded etcd joins the cluster of another server.
type Join struct {
	// Server is the URL of the other server; "" disables joining.
	Server string
	// Kubeconfig is the file with its CA and the credentials. "" means the administrator's certificate of the
	// cluster's keys, which the data directory then must contain.
	Kubeconfig string
}

// sharedName is in the serving certificates of all servers that generate them from the cluster's keys.
const sharedName = "kubernetes.default.svc"

func (j *Join) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&j.Server, "join", j.Server,
		"The URL of a server with --embedded-etcd-peer-listen. This server's embedded etcd joins its cluster, "+
			"and gets its data, CAs and token keys. It is ignored if the data directory contains a member. A server in "+
			"--embedded-etcd-initial-cluster joins only if a server listens at this URL, and creates the cluster "+
			"otherwise. Needs --embedded-etcd-peer-listen.")
	fs.StringVar(&j.Kubeconfig, "join-kubeconfig", j.Kubeconfig,
		"Kubeconfig for --join with the CA of that server, for example from triplane kubeconfig. Its user must "+
			"be allowed to post to "+filters.MembersPath+", as only administrators are. If blank, the data directory "+
			"must contain the keys of the cluster (triplane keys --from).")
}

// validateJoin returns an error for each invalid value.
func (o *Options) validateJoin() []error {
	j := o.Join
	if j.Server == "" && j.Kubeconfig == "" {
		return nil
	}
	u, err := url.Parse(j.Server)
	switch {
	case j.Server == "":
		return []error{errors.New("--join-kubeconfig needs --join")}
	case err != nil || u.Scheme != "https" || u.Host == "":
		return []error{fmt.Errorf("--join: %q is not a URL such as https://10.0.0.1:6443", j.Server)}
	case !o.Etcd.MayHavePeers():
		return []error{errors.New("--join needs --embedded-etcd-peer-listen")}
	}
	return nil
}

// join adds this server to the cluster of another one and writes the shared keys, unless the data directory
// contains a member already, or this server creates the cluster. It can be retried after an interruption.
func (o *Options) join(ctx context.Context) error {
	if o.Join.Server == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.Etcd.InitializationTimeout)
	defer cancel()
	member := &o.Etcd.Member
	begun, err := embedded.Begun(filepath.Join(o.DataDir, "etcd"))
	if err != nil {
		return err
	}
	if begun {
		klog.V(2).InfoS("Ignored --join: the data directory contains a member", "directory", o.DataDir)
		member.Initial = "" // which need not contain it
		return nil
	}
	var self host.Joining
	var initial bool
	if self.Name, self.URL, initial, err = member.Self(); err != nil {
		return err
	}
	if initial {
		if found, err := host.FindCluster(ctx, o.Join.Server); err != nil || !found {
			return err
		}
	}
	config, err := o.joinConfig()
	if err != nil {
		return fmt.Errorf("--join %s: %w", o.Join.Server, err)
	}
	joined, err := host.RequestJoin(ctx, config, self)
	if err != nil {
		return fmt.Errorf("--join %s: %w", o.Join.Server, err)
	}
	if err := pki.WriteShared(filepath.Join(o.DataDir, "pki"), joined.Keys); err != nil {
		return err
	}
	var all []string
	for _, m := range joined.Members {
		name := cmp.Or(m.Name, m.ID)
		if m.URL == self.URL {
			name = self.Name
		}
		all = append(all, name+"="+m.URL)
	}
	member.Initial, member.Joining = strings.Join(all, ","), true
	return nil
}

// joinConfig returns the client configuration of --join.
func (o *Options) joinConfig() (*restclient.Config, error) {
	if o.Join.Kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags(o.Join.Server, o.Join.Kubeconfig)
	}
	if _, err := pki.ReadShared(filepath.Join(o.DataDir, "pki")); err != nil {
		return nil, fmt.Errorf("without --join-kubeconfig, the data directory must contain the keys of the cluster "+
			"(triplane keys --from): %w", err)
	}
	files, err := o.ensureKeys()
	return &restclient.Config{Host: o.Join.Server, TLSClientConfig: restclient.TLSClientConfig{ServerName: sharedName,
		CAFile: files.CACert, CertFile: files.AdminCert, KeyFile: files.AdminKey}}, err
}
