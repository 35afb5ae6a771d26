package options

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/registry"
	"triplane/generic/storage"
	"triplane/generic/storage/cache"
	"triplane/generic/storage/etcd"
)

// Etcd is where objects are kept.
type Etcd struct {
	// Servers of 0 length means the embedded etcd.
	Servers                   []string
	CAFile, CertFile, KeyFile string
	Prefix                    string

	CompactionInterval      time.Duration
	HealthCheckTimeout      time.Duration
	ReadyCheckTimeout       time.Duration
	LeaseReuseSeconds       int64
	DeleteCollectionWorkers int
	InitializationTimeout   time.Duration
	EventTTL                time.Duration
}

// NewEtcd returns the defaults.
func NewEtcd() *Etcd {
	return &Etcd{
		Prefix:                  "/registry",
		CompactionInterval:      5 * time.Minute,
		HealthCheckTimeout:      2 * time.Second,
		ReadyCheckTimeout:       2 * time.Second,
		LeaseReuseSeconds:       60,
		DeleteCollectionWorkers: 1,
		InitializationTimeout:   time.Minute,
		EventTTL:                time.Hour,
	}
}

// AddFlags binds the flags.
func (o *Etcd) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Servers, "etcd-servers", o.Servers,
		"The etcd cluster to use (scheme://host:port, comma separated). If blank, etcd runs inside this process and keeps its data below --data-dir.")
	fs.StringVar(&o.CAFile, "etcd-cafile", o.CAFile, "File with the certificate authority of the etcd servers.")
	fs.StringVar(&o.CertFile, "etcd-certfile", o.CertFile, "File with the client certificate for etcd.")
	fs.StringVar(&o.KeyFile, "etcd-keyfile", o.KeyFile, "File with the key of --etcd-certfile.")
	fs.StringVar(&o.Prefix, "etcd-prefix", o.Prefix, "What all keys in etcd begin with.")
	fs.DurationVar(&o.CompactionInterval, "etcd-compaction-interval", o.CompactionInterval,
		"How often old revisions are dropped; one to two intervals of history are kept. 0 never drops any.")
	fs.DurationVar(&o.HealthCheckTimeout, "etcd-healthcheck-timeout", o.HealthCheckTimeout, "How long etcd may take to answer for its health check.")
	fs.DurationVar(&o.ReadyCheckTimeout, "etcd-readycheck-timeout", o.ReadyCheckTimeout, "How long etcd may take to answer for the readiness check.")
	fs.Int64Var(&o.LeaseReuseSeconds, "lease-reuse-duration-seconds", o.LeaseReuseSeconds,
		"For how many seconds objects that expire share a lease.")
	fs.IntVar(&o.DeleteCollectionWorkers, "delete-collection-workers", o.DeleteCollectionWorkers,
		"How many objects a deletion of a collection deletes at once.")
	fs.DurationVar(&o.InitializationTimeout, "storage-initialization-timeout", o.InitializationTimeout,
		"How long to try to reach etcd at the start before giving up.")
}

// Validate returns what is wrong.
func (o *Etcd) Validate() []error {
	var errs []error
	for _, s := range o.Servers {
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "unix" && u.Scheme != "unixs") {
			errs = append(errs, fmt.Errorf("--etcd-servers: %q is not a URL such as https://127.0.0.1:2379", s))
		}
	}
	if len(o.Servers) == 0 && (o.CAFile != "" || o.CertFile != "" || o.KeyFile != "") {
		errs = append(errs, fmt.Errorf("--etcd-cafile, --etcd-certfile and --etcd-keyfile need --etcd-servers: the embedded etcd has no network"))
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		errs = append(errs, fmt.Errorf("--etcd-certfile and --etcd-keyfile must be given together"))
	}
	if strings.Trim(o.Prefix, "/") == "" {
		errs = append(errs, fmt.Errorf("--etcd-prefix cannot be empty"))
	}
	if o.DeleteCollectionWorkers < 1 {
		errs = append(errs, fmt.Errorf("--delete-collection-workers must be at least 1"))
	}
	if o.CompactionInterval < 0 || o.HealthCheckTimeout <= 0 || o.ReadyCheckTimeout <= 0 || o.InitializationTimeout <= 0 || o.LeaseReuseSeconds <= 0 {
		errs = append(errs, fmt.Errorf("the times of the etcd flags must be positive; only --etcd-compaction-interval may be 0"))
	}
	return errs
}

// Embedded reports whether etcd runs inside this process.
func (o *Etcd) Embedded() bool { return len(o.Servers) == 0 }

// AbsolutePrefix is Prefix as keys have it, "/registry".
func (o *Etcd) AbsolutePrefix() string { return "/" + strings.Trim(o.Prefix, "/") }

// ClientConfig is how to reach the cluster.
func (o *Etcd) ClientConfig() etcd.Config {
	return etcd.Config{
		Endpoints: o.Servers,
		CAFile:    o.CAFile,
		CertFile:  o.CertFile,
		KeyFile:   o.KeyFile,
		Timeout:   o.InitializationTimeout,
		Leases:    o.Leases(),
	}
}

// Leases is how leases are shared.
func (o *Etcd) Leases() etcd.LeaseOptions {
	return etcd.LeaseOptions{Reuse: time.Duration(o.LeaseReuseSeconds) * time.Second}
}

// HealthCheck asks the backend, within the timeout of health checks.
func (o *Etcd) HealthCheck(backend storage.Backend) func() error {
	return func() error {
		return etcd.Check(context.Background(), backend, o.AbsolutePrefix(), o.HealthCheckTimeout)
	}
}

// ReadyCheck asks the backend, within the timeout of readiness checks.
func (o *Etcd) ReadyCheck(backend storage.Backend) func() error {
	return func() error {
		return etcd.Check(context.Background(), backend, o.AbsolutePrefix(), o.ReadyCheckTimeout)
	}
}

// RESTOptionsGetter hands out the storage of resources, all of which share the
// backend and the hub.
func (o *Etcd) RESTOptionsGetter(backend storage.Backend, hub *cache.Hub) registry.RESTOptionsGetter {
	return restOptions{registry.RESTOptions{
		Backend: backend,
		Cache: func(c storage.CacheConfig) storage.Cache {
			return hub.Cache(cache.Config{CacheConfig: c})
		},
		Prefix:                  o.AbsolutePrefix(),
		DropCache:               hub.Drop,
		Budget:                  storage.NewBudget(0),
		DeleteCollectionWorkers: o.DeleteCollectionWorkers,
		EventTTL:                o.EventTTL,
	}}
}

type restOptions struct{ registry.RESTOptions }

// GetRESTOptions implements registry.RESTOptionsGetter.
func (o restOptions) GetRESTOptions(schema.GroupResource) (registry.RESTOptions, error) {
	return o.RESTOptions, nil
}
