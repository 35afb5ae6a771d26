package embedded

import (
	"net/url"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/features"
	"go.uber.org/zap"

	"triplane/generic/storage/etcd"
)

// Config is that of a member.
type Config struct {
	// Dir is etcd's data directory; it is made if it does not exist.
	Dir string
	// QuotaBytes bounds what of the database file is in use; DefaultQuotaBytes unless set.
	// The file itself may be somewhat larger.
	QuotaBytes int64
	// SnapshotCount is after how many writes the log on disk is cut, which bounds what is read
	// again at the next start; DefaultSnapshotCount unless set.
	SnapshotCount uint64
	// KeepFragmented disables the defragmentation of a database file that is mostly free.
	KeepFragmented bool
	Leases         etcd.LeaseOptions
	// Peer is how this member and others reach each other; nil is a member that is alone.
	Peer *Peer
	// Detached opens the directory of a member of a cluster without the others, to take a snapshot of
	// what it has.
	Detached bool
	// Verify, where set, is done before the directory is opened.
	Verify *Verification
}

// Defaults of Config.
const (
	DefaultQuotaBytes    = 8 << 30
	DefaultSnapshotCount = 2_000
)

const (
	memberName = "triplane"

	// Where nobody else votes, nothing depends on these but how often the raft
	// loop wakes up, and the shortest lease (1.5 times their product).
	tickMs        = 250
	electionTicks = 4
	// In a cluster a leader that is not heard of for these, 0.8 seconds, is replaced, or for up to twice as long: each
	// member waits for another time. Etcd's default is a second. One whose process has ended is replaced at once,
	// see replaceLeaders.
	heartbeatMs     = 100
	silentHeartbeat = 8

	// catchUpEntries is how many entries stay in memory behind what is applied, all of them until
	// the start is over: raft looks for configuration changes in all that was read when the member
	// campaigns, and panics if some of it is gone already. A member that is alone has no followers
	// that need them, so that it is keptEntries from then on. Entries may be as large as
	// maxRequestBytes, so that it is the number that bounds their bytes: etcd looks every hundred
	// entries.
	catchUpEntries = 1 << 30
	keptEntries    = 16
	// followersEntries and followersBytes bound what is kept where there may be followers: one that lacks more,
	// after a stop or a cut of the network, gets the whole database. Etcd keeps 5,000, of any size.
	followersEntries = 5000
	followersBytes   = 64 << 20
	// compactedAfter is how many entries it takes until etcd looks, a hundred, and until it has let
	// go of those that it applied last. fewEntries are how many are not worth them.
	compactedAfter = 150
	fewEntries     = 200

	// maxRequestBytes is etcd's own default: a value that a cluster would not
	// take is not taken here either.
	maxRequestBytes = 1.5 * 1024 * 1024
)

// complete sets what was left open.
func (c *Config) complete() {
	if c.QuotaBytes <= 0 {
		c.QuotaBytes = DefaultQuotaBytes
	}
	if c.SnapshotCount == 0 {
		c.SnapshotCount = DefaultSnapshotCount
	}
}

// serverConfig is etcd's configuration. The member leads from the start if it is alone.
func serverConfig(cfg Config, alone bool, lg *zap.Logger) (config.ServerConfig, error) {
	sc := aloneConfig(cfg, lg)
	if cfg.Peer == nil {
		return sc, nil
	}
	var err error
	if sc.InitialPeerURLsMap, err = cfg.Peer.urls(); err != nil {
		return sc, err
	}
	sc.Name, sc.PeerURLs, sc.NewCluster = cfg.Peer.Name, types.URLs{cfg.Peer.URL}, !cfg.Peer.Joining
	sc.PeerTLSInfo, sc.ClientURLs = cfg.Peer.tls(), nil
	sc.TickMs, sc.ElectionTicks, sc.StrictReconfigCheck = heartbeatMs, silentHeartbeat, true
	if !alone {
		sc.SnapshotCatchUpEntries = followersEntries
	}
	return sc, nil
}

// aloneConfig is that of the only member of a cluster.
func aloneConfig(cfg Config, lg *zap.Logger) config.ServerConfig {
	// The member must have an address to have an identity; nothing listens.
	self := types.URLs{selfURL()}
	return config.ServerConfig{
		Name:                memberName,
		DataDir:             cfg.Dir,
		ClientURLs:          types.URLs{url.URL{Scheme: "http", Host: "127.0.0.1:2379"}},
		PeerURLs:            self,
		InitialPeerURLsMap:  types.URLsMap{memberName: self},
		InitialClusterToken: memberName,
		NewCluster:          true,

		TickMs:                     tickMs,
		ElectionTicks:              electionTicks,
		InitialElectionTickAdvance: true,
		PreVote:                    true,

		SnapshotCount:          cfg.SnapshotCount,
		SnapshotCatchUpEntries: catchUpEntries,
		MaxSnapFiles:           2,
		MaxWALFiles:            2,
		QuotaBackendBytes:      -1, // see space
		BackendFreelistType:    bolt.FreelistMapType,
		MaxRequestBytes:        maxRequestBytes,
		MaxTxnOps:              128,

		WarningApplyDuration:        time.Second,
		WarningUnaryRequestDuration: time.Second,
		DowngradeCheckTime:          time.Hour,
		CompactHashCheckTime:        time.Hour,

		AuthToken:         "simple",
		TokenTTL:          300,
		BcryptCost:        10,
		V2Deprecation:     config.V2DeprDefault,
		MaxLearners:       1,
		Metrics:           "basic",
		Logger:            lg,
		ServerFeatureGate: features.NewDefaultServerFeatureGate(memberName, lg),
	}
}

// selfURL is the address of the only member.
func selfURL() url.URL { return url.URL{Scheme: "http", Host: "127.0.0.1:2380"} }
