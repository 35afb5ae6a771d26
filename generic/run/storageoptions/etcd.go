package storageoptions

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

	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/run/options"
	"triplane.dev/generic/run/storeurl"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/generic/storage/etcd"
	"triplane.dev/generic/storage/wire"
)

// Etcd configures storage.
type Etcd struct {
	// Servers are the URLs of the etcd cluster, or of a PostgreSQL database; empty means the embedded etcd.
	Servers storeurl.URLs
	// Memory, without Servers, stores objects in memory only. It is for tests, and has no flag.
	Memory                    bool
	CAFile, CertFile, KeyFile string
	Prefix                    string
	// Backend, if set, is the storage of an embedding program, which replaces etcd. Servers must be empty. The program
	// closes it after the server has stopped.
	Backend storage.Backend
	// Storage has the storage of individual resources.
	Storage map[schema.GroupResource]StorageOverride
	// Overrides are the etcd servers of individual resources: GROUP/RESOURCE#URL;URL, with /RESOURCE for the core
	// group.
	Overrides []string
	// EncryptionConfig is the EncryptionConfiguration; EncryptionReload reloads it when it changes.
	EncryptionConfig string
	EncryptionReload bool
	// KMSv1 allows the deprecated version of KMS plugins (the feature gate KMSv1).
	KMSv1 bool

	CompactionInterval      time.Duration
	HealthCheckTimeout      time.Duration
	ReadyCheckTimeout       time.Duration
	LeaseReuseSeconds       int64
	DeleteCollectionWorkers int
	InitializationTimeout   time.Duration
	EventTTL                time.Duration
	// WatchCache ignores the limit of lists with resourceVersion=0, as kube-apiserver's watch cache does. The
	// cache itself is always enabled.
	WatchCache bool
	// MediaType is the storage encoding of built-in kinds, one of storedForms.
	MediaType string
	// CountPollPeriod and SizePollInterval are how long /metrics caches the counts of uncached objects and the
	// sizes of databases; 0 disables these metrics.
	CountPollPeriod, SizePollInterval time.Duration

	// EmbeddedQuotaBytes bounds the size of the embedded etcd. EmbeddedSnapshotCount is the number of writes after
	// which its log is truncated. EmbeddedAutoDefragmentation defragments the database file when more than half of
	// it is free.
	EmbeddedQuotaBytes          int64
	EmbeddedSnapshotCount       uint64
	EmbeddedAutoDefragmentation bool
	// EmbeddedListen is the address of the embedded etcd's client API: https:// and a loopback address, or unix://
	// and a path; "" disables it.
	EmbeddedListen string
	// Member configures the embedded etcd as a member of a cluster.
	Member Member
	// SnapshotInterval is the time between snapshots of the embedded etcd, 0 disables them. SnapshotRetention is
	// how many are kept. SnapshotDir is their directory; "" is below the data directory.
	SnapshotInterval  time.Duration
	SnapshotRetention int
	SnapshotDir       string

	// VerifyStore verifies the files of the embedded etcd before it opens them. Value verifies each value.
	VerifyStore bool
	Value       func(key string, value []byte) error

	// Dial connects to etcd; nil connects directly.
	Dial egress.Dial
}

// defaultCheckTimeout bounds health checks by default.
const defaultCheckTimeout = 2 * time.Second

const mediaProtobuf = "application/vnd.kubernetes.protobuf"

// storedForms maps media types to storage encodings.
var storedForms = map[string]wire.StoredForm{
	mediaProtobuf:      wire.StoredProtobuf,
	"application/json": wire.StoredJSON,
	"application/yaml": wire.StoredYAML,
}

const (
	// minQuota is slightly more than an empty database needs.
	minQuota = 4 << 20
	// Smaller counts truncate the log constantly; larger ones make starts take minutes.
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
	servers := o.Servers.Flag()
	fs.Var(servers, "etcd-servers", "The etcd cluster to use (scheme://host:port, comma separated), or a PostgreSQL "+
		"database (postgres://user@host1,host2/database?sslmode=verify-full; passwords are read from PGPASSFILE or "+
		"PGPASSWORD). If blank, etcd runs inside this process and stores its data below --data-dir.")
	fs.Var(servers, "store", "Another name of --etcd-servers.")
	fs.StringVar(&o.CAFile, "etcd-cafile", o.CAFile,
		"File with the CA of the etcd servers.")
	fs.StringVar(&o.CertFile, "etcd-certfile", o.CertFile, "File with the client certificate for etcd.")
	fs.StringVar(&o.KeyFile, "etcd-keyfile", o.KeyFile, "File with the key of --etcd-certfile.")
	fs.StringVar(&o.Prefix, "etcd-prefix", o.Prefix,
		"The prefix of all keys in the store, etcd or PostgreSQL.")
	fs.StringSliceVar(&o.Overrides, "etcd-servers-overrides", o.Overrides,
		"Resources that are stored in other etcd clusters or PostgreSQL databases, comma separated: "+
			"group/resource#servers, where servers are URLs separated by semicolons. All etcd clusters use the same "+
			"certificate and key files. Only for built-in resources.")
	fs.StringVar(&o.EncryptionConfig, "encryption-provider-config", o.EncryptionConfig,
		"File with an EncryptionConfiguration, which configures the encryption of resources in the store.")
	fs.BoolVar(&o.EncryptionReload, "encryption-provider-config-automatic-reload", o.EncryptionReload,
		"Reload --encryption-provider-config when it changes. All KMS plugins then share one health check.")
	fs.BoolVar(&o.WatchCache, "watch-cache", o.WatchCache,
		"Ignore the limit of lists with resourceVersion=0, as kube-apiserver's watch cache does. If false, they "+
			"are paginated and consistent. Reads use caches either way, and are as fresh as requested.")
	fs.Var(&options.OneOf{Allowed: slices.Sorted(maps.Keys(storedForms)), Text: &o.MediaType}, "storage-media-type",
		"The storage encoding of built-in kinds: application/vnd.kubernetes.protobuf, application/json or "+
			"application/yaml. CustomResourceDefinitions, custom resources and APIServices are stored as JSON. "+
			"Objects in other encodings remain readable, and are re-encoded when they change.")
	fs.DurationVar(&o.CompactionInterval, "etcd-compaction-interval", o.CompactionInterval,
		"How often old revisions are compacted; one to two intervals of history remain. 0 disables compaction.")
	fs.DurationVar(&o.HealthCheckTimeout, "etcd-healthcheck-timeout", o.HealthCheckTimeout,
		"The timeout of health checks of the store, etcd or PostgreSQL. 0 means the default.")
	fs.DurationVar(&o.ReadyCheckTimeout, "etcd-readycheck-timeout", o.ReadyCheckTimeout,
		"The timeout of readiness checks of the store, etcd or PostgreSQL. 0 means the default.")
	fs.Int64Var(&o.LeaseReuseSeconds, "lease-reuse-duration-seconds", o.LeaseReuseSeconds,
		"For how many seconds new objects with a TTL share a lease of etcd. PostgreSQL has no leases.")
	fs.IntVar(&o.DeleteCollectionWorkers, "delete-collection-workers", o.DeleteCollectionWorkers,
		"How many objects a deletion of a collection deletes concurrently.")
	fs.DurationVar(&o.CountPollPeriod, "etcd-count-metric-poll-period", o.CountPollPeriod,
		"How long /metrics caches the object counts of resources that are not cached. 0 omits these counts.")
	fs.DurationVar(&o.SizePollInterval, "etcd-db-metric-poll-interval", o.SizePollInterval,
		"How long /metrics caches the sizes of the databases, of etcd or PostgreSQL. 0 omits them.")
	fs.DurationVar(&o.InitializationTimeout, "storage-initialization-timeout", o.InitializationTimeout,
		"How long to retry the connection to the store, etcd or PostgreSQL, at start.")
	fs.Int64Var(&o.EmbeddedQuotaBytes, "embedded-etcd-quota-bytes", o.EmbeddedQuotaBytes,
		"How many bytes the embedded etcd may use. Near the limit it compacts old revisions, and at the limit it "+
			"rejects writes.")
	fs.Uint64Var(&o.EmbeddedSnapshotCount, "embedded-etcd-snapshot-count", o.EmbeddedSnapshotCount,
		"The number of writes after which the embedded etcd truncates its log. A start replays the log.")
	fs.BoolVar(&o.EmbeddedAutoDefragmentation, "embedded-etcd-auto-defragmentation", o.EmbeddedAutoDefragmentation,
		"Defragment the embedded etcd's database when more than half of it (and at least 64 MiB) is free. "+
			"Requests wait until it is done.")
	fs.BoolVar(&o.VerifyStore, "verify-store", o.VerifyStore,
		"Verify all files of the embedded etcd before the start, as triplane store verify does, and exit if they "+
			"are damaged. It takes about a second per 100 MB.")
	fs.StringVar(&o.EmbeddedListen, "embedded-etcd-listen", o.EmbeddedListen,
		"Where the embedded etcd serves etcd's client API, for example for etcdctl: https://127.0.0.1:2379 (a "+
			"loopback address, with client certificates from DATA/pki/etcd) or unix:///run/etcd.sock (for this "+
			"user). Its clients bypass authorization and admission. If blank, it is not served.")
	o.Member.addFlags(fs)
	fs.DurationVar(&o.SnapshotInterval, "snapshot-interval", o.SnapshotInterval,
		"How often the embedded etcd is saved to a snapshot. 0 disables snapshots.")
	fs.IntVar(&o.SnapshotRetention, "snapshot-retention", o.SnapshotRetention,
		"How many snapshots of --snapshot-interval to keep.")
	fs.StringVar(&o.SnapshotDir, "snapshot-dir", o.SnapshotDir,
		"Directory of the snapshots of --snapshot-interval. If blank, snapshots below --data-dir.")
}

// Validate returns an error for each invalid value.
func (o *Etcd) Validate() []error {
	var errs []error
	if err := o.Servers.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("--etcd-servers: %w", err))
	}
	if _, err := o.ParseOverrides(); err != nil {
		errs = append(errs, err)
	}
	if o.EncryptionReload && o.EncryptionConfig == "" {
		errs = append(errs,
			fmt.Errorf("--encryption-provider-config-automatic-reload must be set with --encryption-provider-config"))
	}
	if len(o.Servers) == 0 && len(o.Overrides) == 0 && (o.CAFile != "" || o.CertFile != "" || o.KeyFile != "") {
		errs = append(errs, fmt.Errorf("--etcd-cafile, --etcd-certfile and --etcd-keyfile need --etcd-servers: the "+
			"embedded etcd does not use them"))
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
	if o.CompactionInterval < 0 || o.HealthCheckTimeout < 0 || o.ReadyCheckTimeout < 0 ||
		o.InitializationTimeout < 0 || o.LeaseReuseSeconds < 0 || o.CountPollPeriod < 0 || o.SizePollInterval < 0 {
		errs = append(errs, fmt.Errorf("the times of the etcd flags cannot be negative"))
	}
	if o.Backend != nil && (len(o.Servers) > 0 || o.Memory) {
		errs = append(errs, errors.New("a storage backend and --etcd-servers or a store in memory exclude each other"))
	}
	errs = append(errs, o.validateStorage()...)
	return append(errs, o.validateEmbedded()...)
}

// validateEmbedded returns an error for each invalid setting of the embedded etcd.
func (o *Etcd) validateEmbedded() []error {
	var errs []error
	if o.EmbeddedQuotaBytes < minQuota {
		errs = append(errs, fmt.Errorf("--embedded-etcd-quota-bytes must be at least %d", minQuota))
	}
	if o.EmbeddedSnapshotCount < minSnapshotCount || o.EmbeddedSnapshotCount > maxSnapshotCount {
		errs = append(errs, fmt.Errorf("--embedded-etcd-snapshot-count must be between %d and %d", minSnapshotCount,
			maxSnapshotCount))
	}
	if o.SnapshotInterval < 0 || o.SnapshotRetention < 1 {
		errs = append(errs,
			fmt.Errorf("--snapshot-interval cannot be negative, and --snapshot-retention must be at least 1"))
	}
	if _, _, err := o.ListenAddress(); err != nil {
		errs = append(errs, fmt.Errorf("--embedded-etcd-listen: %w", err))
	}
	errs = append(errs, o.Member.validate()...)
	defaults := NewEtcd()
	if !o.Embedded() && (o.EmbeddedQuotaBytes != defaults.EmbeddedQuotaBytes ||
		o.EmbeddedSnapshotCount != defaults.EmbeddedSnapshotCount ||
		!o.EmbeddedAutoDefragmentation || o.EmbeddedListen != "" || o.Member != Member{} || o.SnapshotInterval > 0 ||
		o.VerifyStore) {
		errs = append(errs,
			fmt.Errorf("--embedded-etcd-…, --verify-store and --snapshot-interval have no effect with --etcd-servers"))
	}
	return errs
}

// ListenAddress returns EmbeddedListen as network and address of package net; "" if unset.
func (o *Etcd) ListenAddress() (network, address string, err error) {
	if o.EmbeddedListen == "" {
		return "", "", nil
	}
	if path, is := strings.CutPrefix(o.EmbeddedListen, "unix://"); is && filepath.IsAbs(path) {
		return "unix", path, nil
	}
	address, is := strings.CutPrefix(o.EmbeddedListen, "https://")
	if !is || embedded.Loopback(address) != nil {
		return "", "",
			fmt.Errorf("%q is neither https:// with a loopback address and a port, such as https://127.0.0.1:2379, "+
				"nor unix:// with an absolute path", o.EmbeddedListen)
	}
	return "tcp", address, nil
}

// EmbeddedConfig returns the configuration of an embedded etcd in a directory. Its Peer has no certificates yet.
func (o *Etcd) EmbeddedConfig(dir string) (embedded.Config, error) {
	member, err := o.Member.resolve()
	if err != nil {
		return embedded.Config{}, err
	}
	config := embedded.Config{
		Dir: dir, Leases: o.Leases(), QuotaBytes: o.EmbeddedQuotaBytes, SnapshotCount: o.EmbeddedSnapshotCount,
		KeepFragmented: !o.EmbeddedAutoDefragmentation, Release: o.Member.Release,
	}
	if member != nil {
		if len(member.initial) > 0 && member.initial[member.name] == "" {
			return config, fmt.Errorf("--embedded-etcd-initial-cluster does not contain this member, %q: set its name "+
				"with --embedded-etcd-name, or --join", member.name)
		}
		config.Peer = &embedded.Peer{
			Name: member.name, Listen: member.listen, URL: *member.url, Initial: member.initial,
			Joining: o.Member.Joining, Wait: o.InitializationTimeout,
		}
	}
	return config, nil
}

// Complete sets defaults: timeouts of 0 become the default timeout.
func (o *Etcd) Complete() {
	o.HealthCheckTimeout = cmp.Or(o.HealthCheckTimeout, defaultCheckTimeout)
	o.ReadyCheckTimeout = cmp.Or(o.ReadyCheckTimeout, defaultCheckTimeout)
}

// Embedded reports whether etcd runs inside this process.
func (o *Etcd) Embedded() bool { return len(o.Servers) == 0 && o.Backend == nil }

// AbsolutePrefix returns Prefix as keys contain it, "/registry".
func (o *Etcd) AbsolutePrefix() string { return "/" + strings.Trim(o.Prefix, "/") }

// ClientConfig returns the client configuration of clusters, without their endpoints.
func (o *Etcd) ClientConfig() etcd.Config {
	return etcd.Config{
		CAFile:   o.CAFile,
		CertFile: o.CertFile,
		KeyFile:  o.KeyFile,
		Timeout:  o.InitializationTimeout,
		Leases:   o.Leases(),
		Dial:     o.Dial,
	}
}

// Leases returns the lease settings.
func (o *Etcd) Leases() etcd.LeaseOptions {
	return etcd.LeaseOptions{Reuse: time.Duration(o.LeaseReuseSeconds) * time.Second}
}

// HealthCheck returns a check of the backend with the timeout of health checks.
func (o *Etcd) HealthCheck(backend storage.Backend) func() error {
	return func() error {
		return etcd.Check(context.Background(), backend, o.AbsolutePrefix(), o.HealthCheckTimeout)
	}
}

// ReadyCheck returns a check of the backend with the timeout of readiness checks.
func (o *Etcd) ReadyCheck(backend storage.Backend) func() error {
	return func() error {
		return etcd.Check(context.Background(), backend, o.AbsolutePrefix(), o.ReadyCheckTimeout)
	}
}
