package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	grpcmetrics "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/klog/v2"

	"triplane.dev/generic/guard/flowcontrol"
	"triplane.dev/generic/run/pki"
	"triplane.dev/generic/run/storageoptions"
	"triplane.dev/generic/run/storeurl"
	"triplane.dev/generic/serve/healthz"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/generic/storage/encryption"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/generic/storage/observed"
	"triplane.dev/generic/storage/overlay"
	"triplane.dev/internal/worker"
)

// Store is the open storage of a server: the default etcd, the etcds of individual resources, and the encryption
// of values.
type Store struct {
	*cluster
	others    []*cluster
	resources map[schema.GroupResource]*cluster // those of individual resources
	providers *encryption.Providers
	options   *storageoptions.RESTOptions // set by InstallIn
	// failed is closed when the storage has stopped unexpectedly; nil if it cannot. why then returns the reason.
	failed <-chan struct{}
	why    func() error
	// collectors are the metrics of the embedded etcd, of requests to external etcds, and of databases.
	collectors []prometheus.Collector
	// etcdClient are the etcdctl arguments for the embedded etcd; "" if its client API is not served.
	etcdClient string
	// snapshots and members are the handlers of the embedded etcd; nil without one.
	snapshots *snapshots
	members   *members
}

// cluster is an open etcd and the multiplexer of its resources.
type cluster struct {
	backend storage.Backend
	mux     *cache.Multiplexer
	end     func() error
}

// compactor is a backend that compacts its history. Backends of an embedding program may do so in other ways.
type compactor interface {
	RunCompactor(ctx context.Context, interval time.Duration)
}

// OpenStore starts the embedded etcd below the data directory or an in-memory store, or connects to a cluster. It
// also connects to the clusters of individual resources.
func OpenStore(ctx context.Context, o *storageoptions.Etcd, dataDir, serverID string) (_ *Store, err error) {
	calls := grpcmetrics.NewClientMetrics()
	s := &Store{resources: map[schema.GroupResource]*cluster{}, collectors: []prometheus.Collector{calls}}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	overrides, err := o.ParseOverrides()
	if err != nil {
		return nil, err
	}
	s.providers, err = encryption.New(encryption.Options{File: o.EncryptionConfig, Reload: o.EncryptionReload,
		KMSv1: o.KMSv1, ServerID: serverID})
	if err != nil {
		return nil, fmt.Errorf("--encryption-provider-config: %w", err)
	}
	switch {
	case o.Backend != nil:
		s.cluster = externalCluster(o, o.Backend)
	case o.Embedded() && o.Memory:
		backend := memory.New()
		s.cluster = &cluster{backend: backend, mux: cache.NewMultiplexer(backend, o.AbsolutePrefix()),
			end: backend.Close}
	case o.Embedded():
		err = s.openEmbedded(ctx, o, dataDir)
	default:
		s.cluster, err = s.dial(ctx, o, o.Servers, calls)
	}
	if err != nil {
		return nil, err
	}
	for _, override := range overrides {
		c, err := s.dial(ctx, o, override.Servers, calls)
		if err != nil {
			return nil, fmt.Errorf("--etcd-servers-overrides: %w", err)
		}
		s.others = append(s.others, c)
		for _, r := range override.Resources {
			s.resources[r] = c
		}
	}
	s.addGiven(o)
	return s, nil
}

// addGiven adds the embedding program's backends of individual resources, each once.
func (s *Store) addGiven(o *storageoptions.Etcd) {
	clusters := map[storage.Backend]*cluster{}
	for r, override := range o.Storage {
		if override.Backend == nil {
			continue
		}
		c, ok := clusters[override.Backend]
		if !ok {
			c = externalCluster(o, override.Backend)
			clusters[override.Backend], s.others = c, append(s.others, c)
		}
		s.resources[r] = c
	}
}

// externalCluster returns a backend that the embedding program opens and closes.
func externalCluster(o *storageoptions.Etcd, backend storage.Backend) *cluster {
	return &cluster{backend: backend, mux: cache.NewMultiplexer(backend, o.AbsolutePrefix()),
		end: func() error { return nil }}
}

// openEmbedded starts the embedded etcd below the data directory, with its endpoints.
func (s *Store) openEmbedded(ctx context.Context, o *storageoptions.Etcd, dataDir string) error {
	server, err := startEmbedded(ctx, o, dataDir)
	if err != nil {
		return err
	}
	s.cluster = &cluster{backend: server.Backend(), mux: cache.NewMultiplexer(server.Backend(), o.AbsolutePrefix()),
		end: server.Close}
	s.failed, s.why, s.collectors = server.Done(), server.Err, append(s.collectors, server.Collectors()...)
	s.snapshots = &snapshots{
		server: server, dir: snapshotDir(o, dataDir), interval: o.SnapshotInterval, keep: o.SnapshotRetention,
	}
	s.members = &members{server: server, keys: filepath.Join(dataDir, "pki")}
	if s.etcdClient, err = serveEtcdClients(ctx, server, o, filepath.Join(dataDir, "pki", "etcd")); err != nil {
		return fmt.Errorf("--embedded-etcd-listen: %w", err)
	}
	return nil
}

// snapshotDir returns the directory of snapshots.
func snapshotDir(o *storageoptions.Etcd, dataDir string) string {
	return cmp.Or(o.SnapshotDir, filepath.Join(dataDir, "snapshots"))
}

// startEmbedded starts the embedded etcd below the data directory, with peer certificates if it may have peers.
func startEmbedded(ctx context.Context, o *storageoptions.Etcd, dataDir string) (*embedded.Server, error) {
	config, err := o.EmbeddedConfig(filepath.Join(dataDir, "etcd"))
	if err != nil {
		return nil, err
	}
	if o.VerifyStore {
		config.Verify = &embedded.Verification{Snapshots: snapshotDir(o, dataDir), Value: o.Value}
	}
	if peer := config.Peer; peer != nil {
		files, err := pki.EnsurePeer(filepath.Join(dataDir, "pki", "etcd"), hosts(peer.URL.Hostname()))
		if err != nil {
			return nil, err
		}
		peer.CertFile, peer.KeyFile, peer.CAFile = files.Cert, files.Key, files.CACert
	}
	return embedded.Start(ctx, config)
}

// EtcdRelease returns the release of etcd in programs that serve a release of Kubernetes.
func EtcdRelease(kubernetes *version.Version) string {
	if kubernetes.LessThan(version.MajorMinor(1, 37)) {
		return embedded.FormerRelease
	}
	return embedded.Release
}

// hosts returns a certificate configuration for hosts, each a name or an IP address.
func hosts(names ...string) (c pki.Config) {
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPs = append(c.IPs, ip)
		} else {
			c.Names = append(c.Names, name)
		}
	}
	return c
}

// dial connects to a store and adds its metrics.
func (s *Store) dial(ctx context.Context, o *storageoptions.Etcd, servers storeurl.URLs,
	calls *grpcmetrics.ClientMetrics) (*cluster, error) {
	config := o.ClientConfig()
	config.Calls = calls
	backend, err := servers.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	if measured, ok := backend.(interface{ Collectors() []prometheus.Collector }); ok {
		labels := prometheus.Labels{"storage_cluster_id": clusterID(len(s.clusters()))}
		for _, c := range measured.Collectors() {
			s.collectors = append(s.collectors, prometheus.WrapCollectorWith(labels, c))
		}
	}
	return &cluster{backend: backend, mux: cache.NewMultiplexer(backend, o.AbsolutePrefix()), end: backend.Close}, nil
}

// clusterID returns the label of the cluster at an index of clusters.
func clusterID(index int) string { return fmt.Sprintf("etcd-%d", index) }

// clusters returns the default cluster and the others.
func (s *Store) clusters() []*cluster {
	if s.cluster == nil {
		return s.others
	}
	return append([]*cluster{s.cluster}, s.others...)
}

// Start starts watching and compacting storage until stop is called, which also closes the store.
func (s *Store) Start(compactEvery time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running worker.Group
	running.Go(func() { s.run(ctx, compactEvery) })
	return func() {
		cancel()
		running.Wait()
		s.Close()
	}
}

func (s *Store) run(ctx context.Context, compactEvery time.Duration) {
	var running worker.Group
	for _, c := range s.clusters() {
		running.Go(func() { _ = c.mux.Run(ctx) }) // recovers from panics; it can run only once
		if b, ok := c.backend.(compactor); ok {
			running.Keep(ctx, func(ctx context.Context) { b.RunCompactor(ctx, compactEvery) })
		}
	}
	running.Keep(ctx, s.providers.Run)
	if s.snapshots != nil {
		running.Keep(ctx, s.snapshots.run)
	}
	running.Wait()
}

// Close closes a store that was not started.
func (s *Store) Close() {
	for _, c := range s.clusters() {
		if err := c.end(); err != nil {
			klog.ErrorS(err, "Failed to close storage")
		}
	}
	if s.providers != nil {
		s.providers.Close()
	}
}

// Following returns an error until all caches watch storage; nothing can be read before.
func (s *Store) Following() error {
	for _, c := range s.clusters() {
		select {
		case <-c.mux.Started():
		default:
			return errors.New("the caches do not watch storage yet")
		}
	}
	return nil
}

// Backend returns the default cluster's backend.
func (s *Store) Backend() storage.Backend { return s.backend }

// Multiplexers returns the multiplexers of all clusters, the default one first.
func (s *Store) Multiplexers() []*cache.Multiplexer {
	var multiplexers []*cache.Multiplexer
	for _, c := range s.clusters() {
		multiplexers = append(multiplexers, c.mux)
	}
	return multiplexers
}

// Below returns the storage options of resources below a path of two segments, ".DIRECTORY/NAME", with default objects,
// and the multiplexer of their keys. All are in the default cluster. It must be called after InstallIn. DropBelow ends
// them.
func (s *Store) Below(path string, defaults *overlay.Defaults) (*storageoptions.RESTOptions, *cache.Multiplexer) {
	return s.options.Below(path, defaults), s.mux.Child(path)
}

// Through returns the storage options of storageoptions.RESTOptions.Through. It must be called after InstallIn.
func (s *Store) Through(m *cache.Multiplexer,
	view func(storage.Backend, cache.View) cache.View) *storageoptions.RESTOptions {
	return s.options.Through(m, view)
}

// DropBelow stops the caches of Below.
func (s *Store) DropBelow(path string) { s.mux.DropChild(path) }

// InstallIn configures a server's storage, with health checks and metrics. It returns the object counts for the
// estimates of flow control.
func (s *Store) InstallIn(c *server.Config, o *storageoptions.Etcd) (flowcontrol.Objects, error) {
	stores := storageoptions.Stores{
		Default:    storageoptions.Store{Backend: s.backend, Multiplexer: s.mux},
		Overrides:  map[schema.GroupResource]storageoptions.Store{},
		Encryption: s.providers,
		Metrics:    observed.NewMetrics(c.Metrics.Registry),
	}
	for r, other := range s.resources {
		stores.Overrides[r] = storageoptions.Store{Backend: other.backend, Multiplexer: other.mux}
	}
	s.options = o.RESTOptionsGetter(stores)
	caches := newObjects(s.options)
	c.RESTOptionsGetter = caches
	c.HealthChecks = append(c.HealthChecks, healthz.NamedCheck("etcd", o.HealthCheck(s.backend)))
	c.ReadyChecks = append(c.ReadyChecks, healthz.NamedCheck("etcd-readiness", o.ReadyCheck(s.backend)))
	for i, other := range s.others {
		c.HealthChecks = append(c.HealthChecks, healthz.GroupedCheck("etcd", fmt.Sprintf("etcd-override-%d", i),
			o.HealthCheck(other.backend)))
		c.ReadyChecks = append(c.ReadyChecks, healthz.GroupedCheck("etcd-readiness",
			fmt.Sprintf("etcd-override-readiness-%d", i), o.ReadyCheck(other.backend)))
	}
	for _, check := range s.providers.Checks() {
		c.ServiceChecks = append(c.ServiceChecks, healthz.NamedCheck(check.Name, check.Check))
	}
	for _, collector := range append(s.collectors, s.providers.Metrics().Collectors()...) {
		if err := c.Metrics.Register(collector); err != nil {
			return nil, err
		}
	}
	c.Metrics.FollowResources(s.providers.Metrics().PerResource())
	return caches, c.Metrics.Register(&storageMetrics{
		objects: caches, clusters: s.clusters(), countsHold: o.CountPollPeriod, sizesHold: o.SizePollInterval,
	})
}
