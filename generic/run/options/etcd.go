package options

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/base/egress"
	"triplane/generic/storage"
	"triplane/generic/storage/embedded"
	"triplane/generic/storage/etcd"
	"triplane/generic/storage/wire"
)

// Etcd is where objects are kept.
type Etcd struct {
	// Servers of 0 length means the embedded etcd.
	Servers []string
	// Memory, without Servers, keeps objects in the memory of this process rather than in
	// an etcd; they are gone when it ends. It is for tests, and has no flag.
	Memory                    bool
	CAFile, CertFile, KeyFile string
	Prefix                    string
	// Backend, where set, is the storage of a program that embeds the server, in place of an etcd. Servers is empty then.
	// The program closes it after the server has stopped.
	Backend storage.Backend
	// Storage are the resources that are stored in a way of their own.
	Storage map[schema.GroupResource]StorageOverride
	// Overrides are the servers of resources that are kept elsewhere:
	// GROUP/RESOURCE#URL;URL, with /RESOURCE for the core group.
	Overrides []string
	// EncryptionConfig is the file that says which resources are encrypted, and
	// EncryptionReload whether its changes are used while serving.
	EncryptionConfig string
	EncryptionReload bool
	// KMSv1 allows it the deprecated version of KMS plugins; the gate of that name is its flag.
	KMSv1 bool

	CompactionInterval      time.Duration
	HealthCheckTimeout      time.Duration
	ReadyCheckTimeout       time.Duration
	LeaseReuseSeconds       int64
	DeleteCollectionWorkers int
	InitializationTimeout   time.Duration
	EventTTL                time.Duration
	// WatchCache lets lists of any version (resourceVersion=0) be whole, whatever limit they
	// have; what else depends on it at kube-apiserver is always on.
	WatchCache bool
	// MediaType is how built-in kinds are stored, one of storedForms.
	MediaType string
	// CountPollPeriod and SizePollInterval are how long /metrics shows the same count of
	// objects that are in no cache, and the same sizes of databases; 0 shows none.
	CountPollPeriod, SizePollInterval time.Duration

	// EmbeddedQuotaBytes, EmbeddedSnapshotCount and EmbeddedAutoDefragmentation are settings of
	// the embedded etcd: how much it may hold, after how many writes its log is cut, and whether
	// a database file of which more than half is free is written anew.
	EmbeddedQuotaBytes          int64
	EmbeddedSnapshotCount       uint64
	EmbeddedAutoDefragmentation bool
	// EmbeddedListen is where the embedded etcd serves its client API: https:// and a loopback
	// address, or unix:// and a path; "" is nowhere.
	EmbeddedListen string
	// Member is the embedded etcd as one of several.
	Member Member
	// SnapshotInterval is how often a snapshot of the embedded etcd is made, 0 never;
	// SnapshotRetention how many are kept, and SnapshotDir where: "" is below the data directory.
	SnapshotInterval  time.Duration
	SnapshotRetention int
	SnapshotDir       string

	// VerifyStore has the files of the embedded etcd verified before it opens them, values by Value.
	VerifyStore bool
	Value       func(key string, value []byte) error

	// Dial connects to etcd; nil is directly.
	Dial egress.Dial
}

// defaultCheckTimeout bounds health checks where no other time is given.
const defaultCheckTimeout = 2 * time.Second

const mediaProtobuf = "application/vnd.kubernetes.protobuf"

// storedForms are the media types of storage.
var storedForms = map[string]wire.StoredForm{
	mediaProtobuf:      wire.StoredProtobuf,
	"application/json": wire.StoredJSON,
	"application/yaml": wire.StoredYAML,
}

const (
	// minQuota is somewhat more than an empty store takes.
	minQuota = 4 << 20
	// A log that is cut all the time, or read for minutes, is a mistake.
	minSnapshotCount, maxSnapshotCount = 100, 1_000_000
)

// NewEtcd returns the defaults.
func NewEtcd() *Etcd {
	return &Etcd{
		Prefix:                  "/registry",
		CompactionInterval:      5 * time.Minute,
		HealthCheckTimeout:      defaultCheckTimeout,
		ReadyCheckTimeout:       defaultCheckTimeout,
		LeaseReuseSeconds:       60,
		DeleteCollectionWorkers: 1,
		InitializationTimeout:   time.Minute,
		EventTTL:                time.Hour,
		WatchCache:              true,
		MediaType:               mediaProtobuf,
		CountPollPeriod:         time.Minute,
		SizePollInterval:        30 * time.Second,

		EmbeddedQuotaBytes:          embedded.DefaultQuotaBytes,
		EmbeddedSnapshotCount:       embedded.DefaultSnapshotCount,
		EmbeddedAutoDefragmentation: true,
		SnapshotRetention:           5,
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
	fs.StringSliceVar(&o.Overrides, "etcd-servers-overrides", o.Overrides,
		"Resources that are kept in other etcd clusters, comma separated: group/resource#servers, where servers are URLs, semicolon separated. "+
			"All clusters share the files of certificates and keys. Only for resources that are compiled into this server.")
	fs.StringVar(&o.EncryptionConfig, "encryption-provider-config", o.EncryptionConfig,
		"File with an EncryptionConfiguration, which says how resources are encrypted in etcd.")
	fs.BoolVar(&o.EncryptionReload, "encryption-provider-config-automatic-reload", o.EncryptionReload,
		"Use changes of --encryption-provider-config while serving. There is one health check for all KMS plugins then.")
	fs.BoolVar(&o.WatchCache, "watch-cache", o.WatchCache,
		"Answer lists of resourceVersion=0 whole, whatever limit they have. If false they have pages, which are consistent. Reads are from caches either way, and as fresh as they ask for.")
	fs.Var(&oneOf{allowed: slices.Sorted(maps.Keys(storedForms)), text: &o.MediaType}, "storage-media-type",
		"How built-in kinds are stored from now on: application/vnd.kubernetes.protobuf, application/json or application/yaml. Custom resources, their definitions and APIServices are JSON. What is stored otherwise is read, and written anew when it changes.")
	fs.DurationVar(&o.CompactionInterval, "etcd-compaction-interval", o.CompactionInterval,
		"How often old revisions are dropped; one to two intervals of history are kept. 0 never drops any.")
	fs.DurationVar(&o.HealthCheckTimeout, "etcd-healthcheck-timeout", o.HealthCheckTimeout, "How long etcd may take to answer for its health check. 0 is the default.")
	fs.DurationVar(&o.ReadyCheckTimeout, "etcd-readycheck-timeout", o.ReadyCheckTimeout, "How long etcd may take to answer for the readiness check. 0 is the default.")
	fs.Int64Var(&o.LeaseReuseSeconds, "lease-reuse-duration-seconds", o.LeaseReuseSeconds,
		"For how many seconds objects that expire share a lease.")
	fs.IntVar(&o.DeleteCollectionWorkers, "delete-collection-workers", o.DeleteCollectionWorkers,
		"How many objects a deletion of a collection deletes at once.")
	fs.DurationVar(&o.CountPollPeriod, "etcd-count-metric-poll-period", o.CountPollPeriod,
		"How long /metrics shows the same number of objects of resources that are not in memory. 0 shows no such numbers.")
	fs.DurationVar(&o.SizePollInterval, "etcd-db-metric-poll-interval", o.SizePollInterval,
		"How long /metrics shows the same sizes of etcd's databases. 0 shows none.")
	fs.DurationVar(&o.InitializationTimeout, "storage-initialization-timeout", o.InitializationTimeout,
		"How long to try to reach etcd at the start before giving up.")
	fs.Int64Var(&o.EmbeddedQuotaBytes, "embedded-etcd-quota-bytes", o.EmbeddedQuotaBytes,
		"How many bytes the embedded etcd may have in use. Writes that do not fit are refused; before, old revisions are dropped.")
	fs.Uint64Var(&o.EmbeddedSnapshotCount, "embedded-etcd-snapshot-count", o.EmbeddedSnapshotCount,
		"After how many writes the embedded etcd cuts its log: a start reads again what is in it.")
	fs.BoolVar(&o.EmbeddedAutoDefragmentation, "embedded-etcd-auto-defragmentation", o.EmbeddedAutoDefragmentation,
		"Write the database file of the embedded etcd anew when more than half of it, and of 64 MiB, is free. Requests wait meanwhile.")
	fs.BoolVar(&o.VerifyStore, "verify-store", o.VerifyStore,
		"Read all of the embedded etcd's files before the start, as triplane store verify does, and end where they are damaged. It takes about a second for 100 MB.")
	fs.StringVar(&o.EmbeddedListen, "embedded-etcd-listen", o.EmbeddedListen,
		"Where the embedded etcd serves etcd's client API, for etcdctl and its like: https://127.0.0.1:2379 (a loopback address, with client certificates from DATA/pki/etcd) "+
			"or unix:///run/etcd.sock (for this user). Who has it reads and writes everything, past authorization and admission. If blank, it is not served.")
	o.Member.addFlags(fs)
	fs.DurationVar(&o.SnapshotInterval, "snapshot-interval", o.SnapshotInterval, "How often a snapshot of the embedded etcd is made. 0 makes none.")
	fs.IntVar(&o.SnapshotRetention, "snapshot-retention", o.SnapshotRetention, "How many of the snapshots of --snapshot-interval are kept.")
	fs.StringVar(&o.SnapshotDir, "snapshot-dir", o.SnapshotDir, "Where the snapshots of --snapshot-interval are kept. If blank, in the folder snapshots of --data-dir.")
}

// Validate returns what is wrong.
func (o *Etcd) Validate() []error {
	var errs []error
	for _, s := range o.Servers {
		if !isServerURL(s) {
			errs = append(errs, fmt.Errorf("--etcd-servers: %q is not a URL such as https://127.0.0.1:2379 or unix:///run/etcd.sock", s))
		}
	}
	if _, err := o.ParseOverrides(); err != nil {
		errs = append(errs, err)
	}
	if o.EncryptionReload && o.EncryptionConfig == "" {
		errs = append(errs, fmt.Errorf("--encryption-provider-config-automatic-reload must be set with --encryption-provider-config"))
	}
	if len(o.Servers) == 0 && len(o.Overrides) == 0 && (o.CAFile != "" || o.CertFile != "" || o.KeyFile != "") {
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
	if o.CompactionInterval < 0 || o.HealthCheckTimeout < 0 || o.ReadyCheckTimeout < 0 || o.InitializationTimeout < 0 || o.LeaseReuseSeconds < 0 || o.CountPollPeriod < 0 || o.SizePollInterval < 0 {
		errs = append(errs, fmt.Errorf("the times of the etcd flags cannot be negative"))
	}
	if o.Backend != nil && (len(o.Servers) > 0 || o.Memory) {
		errs = append(errs, errors.New("a storage backend and --etcd-servers or a store in memory exclude each other"))
	}
	errs = append(errs, o.validateStorage()...)
	return append(errs, o.validateEmbedded()...)
}

// validateEmbedded returns what is wrong with the settings of the embedded etcd.
func (o *Etcd) validateEmbedded() []error {
	var errs []error
	if o.EmbeddedQuotaBytes < minQuota {
		errs = append(errs, fmt.Errorf("--embedded-etcd-quota-bytes must be at least %d", minQuota))
	}
	if o.EmbeddedSnapshotCount < minSnapshotCount || o.EmbeddedSnapshotCount > maxSnapshotCount {
		errs = append(errs, fmt.Errorf("--embedded-etcd-snapshot-count must be between %d and %d", minSnapshotCount, maxSnapshotCount))
	}
	if o.SnapshotInterval < 0 || o.SnapshotRetention < 1 {
		errs = append(errs, fmt.Errorf("--snapshot-interval cannot be negative, and --snapshot-retention must be at least 1"))
	}
	if _, _, err := o.ListenAddress(); err != nil {
		errs = append(errs, fmt.Errorf("--embedded-etcd-listen: %w", err))
	}
	errs = append(errs, o.Member.validate()...)
	defaults := NewEtcd()
	if !o.Embedded() && (o.EmbeddedQuotaBytes != defaults.EmbeddedQuotaBytes || o.EmbeddedSnapshotCount != defaults.EmbeddedSnapshotCount ||
		!o.EmbeddedAutoDefragmentation || o.EmbeddedListen != "" || o.Member != Member{} || o.SnapshotInterval > 0 || o.VerifyStore) {
		errs = append(errs, fmt.Errorf("--embedded-etcd-…, --verify-store and --snapshot-interval are of no use with --etcd-servers"))
	}
	return errs
}

// ListenAddress is EmbeddedListen as package net has it; blank where there is none.
func (o *Etcd) ListenAddress() (network, address string, err error) {
	if o.EmbeddedListen == "" {
		return "", "", nil
	}
	if path, is := strings.CutPrefix(o.EmbeddedListen, "unix://"); is && filepath.IsAbs(path) {
		return "unix", path, nil
	}
	address, is := strings.CutPrefix(o.EmbeddedListen, "https://")
	if !is || embedded.Loopback(address) != nil {
		return "", "", fmt.Errorf("%q is neither https:// with a loopback address and a port, such as https://127.0.0.1:2379, nor unix:// with an absolute path", o.EmbeddedListen)
	}
	return "tcp", address, nil
}

// EmbeddedConfig is that of an embedded etcd in a directory. A Peer has no certificates yet.
func (o *Etcd) EmbeddedConfig(dir string) (embedded.Config, error) {
	member, err := o.Member.resolve()
	if err != nil {
		return embedded.Config{}, err
	}
	config := embedded.Config{
		Dir: dir, Leases: o.Leases(), QuotaBytes: o.EmbeddedQuotaBytes, SnapshotCount: o.EmbeddedSnapshotCount,
		KeepFragmented: !o.EmbeddedAutoDefragmentation,
	}
	if member != nil {
		config.Peer = &embedded.Peer{
			Name: member.name, Listen: member.listen, URL: *member.url, Initial: member.initial, Joining: o.Member.Joining, Wait: o.InitializationTimeout,
		}
	}
	return config, nil
}

// Complete sets what was left open: a timeout of 0 is the default one.
func (o *Etcd) Complete() {
	o.HealthCheckTimeout = cmp.Or(o.HealthCheckTimeout, defaultCheckTimeout)
	o.ReadyCheckTimeout = cmp.Or(o.ReadyCheckTimeout, defaultCheckTimeout)
}

// Embedded reports whether etcd runs inside this process.
func (o *Etcd) Embedded() bool { return len(o.Servers) == 0 && o.Backend == nil }

// AbsolutePrefix is Prefix as keys have it, "/registry".
func (o *Etcd) AbsolutePrefix() string { return "/" + strings.Trim(o.Prefix, "/") }

// ClientConfig is how to reach a cluster.
func (o *Etcd) ClientConfig(servers []string) etcd.Config {
	return etcd.Config{
		Endpoints: servers,
		CAFile:    o.CAFile,
		CertFile:  o.CertFile,
		KeyFile:   o.KeyFile,
		Timeout:   o.InitializationTimeout,
		Leases:    o.Leases(),
		Dial:      o.Dial,
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
