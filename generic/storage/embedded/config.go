package embedded

import (
	"net/url"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/features"
	"go.uber.org/zap"

	"triplane.dev/generic/storage/embedded/raftlog"
	"triplane.dev/generic/storage/etcd"
)

// Config configures a member.
type Config struct {
	// Dir is etcd's data directory. It is created if it does not exist.
	Dir string
	// QuotaBytes limits the used bytes of the database file. It defaults to DefaultQuotaBytes. The file itself
	// may be somewhat larger.
	QuotaBytes int64
	// SnapshotCount is the number of writes after which the log on disk is truncated. It limits how much the
	// next start replays, and defaults to DefaultSnapshotCount.
	SnapshotCount uint64
	// KeepFragmented disables defragmentation of the database file.
	KeepFragmented bool
	// UnsafeNoFsync does not sync writes to disk.
	UnsafeNoFsync bool
	// ClientURLs are those of a single member in the list of members. They default to http://127.0.0.1:2379.
	ClientURLs []url.URL
	Leases     etcd.LeaseOptions
	// Peer configures the connections to other members; nil is a single member.
	Peer *Peer
	// Release is the release of etcd whose programs can open the directory: Release, FormerRelease, or "", which
	// leaves a directory that was lowered as it is. In a cluster that of the leader counts.
	Release string
	// Detached opens the directory of a cluster's member without the other members, to take a snapshot.
	Detached bool
	// Verify, if set, is run before the directory is opened.
	Verify *Verification

	// logLimit is the limit of raftlog.New.
	logLimit int64
}

// Defaults of Config.
const (
	DefaultQuotaBytes    = 8 << 30
	DefaultSnapshotCount = 2_000
)

const (
	memberName = "triplane"

	// For a single voter these values only determine how often the raft loop wakes up, and the shortest lease
	// (1.5 times their product).
	tickMs        = 250
	electionTicks = 4
	// In a cluster a leader without heartbeats for 0.8 to 1.6 seconds is replaced. Each member waits for a
	// random time in this range, so that one of them stands first. The default of etcd is one to two seconds. A
	// leader whose process has ended is replaced at once, see replaceLeaders.
	heartbeatMs     = 100
	silentHeartbeat = 8

	// catchUpEntries is how many applied entries stay in memory during the start: all of them. Raft scans all
	// replayed entries for configuration changes when the member campaigns, and panics if some were dropped.
	// After the start a single member keeps keptEntries, because there are no followers that need them. The
	// number limits their bytes: entries may be as large as maxRequestBytes, and etcd trims every hundred
	// entries.
	catchUpEntries = 1 << 30
	keptEntries    = 16
	// compactedAfter is the number of entries after which etcd has trimmed those that it applied before. Up to
	// fewEntries trimming is not worth the proposals.
	compactedAfter = 150
	fewEntries     = 200

	// maxRequestBytes is etcd's default limit.
	maxRequestBytes = 1.5 * 1024 * 1024
)

// complete sets defaults.
func (c *Config) complete() {
	if c.QuotaBytes <= 0 {
		c.QuotaBytes = DefaultQuotaBytes
	}
	if c.SnapshotCount == 0 {
		c.SnapshotCount = DefaultSnapshotCount
	}
	if len(c.ClientURLs) == 0 {
		c.ClientURLs = []url.URL{{Scheme: "http", Host: "127.0.0.1:2379"}}
	}
}

// serverConfig returns etcd's configuration. A single member leads from the start.
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
		sc.SnapshotCatchUpEntries = raftlog.FollowersEntries
	}
	return sc, nil
}

// aloneConfig returns the configuration of a single member.
func aloneConfig(cfg Config, lg *zap.Logger) config.ServerConfig {
	// The ID of the member derives from an address. Nothing listens on it.
	self := types.URLs{selfURL()}
	return config.ServerConfig{
		Name:                memberName,
		DataDir:             cfg.Dir,
		ClientURLs:          cfg.ClientURLs,
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
		QuotaBackendBytes:      -1, // replaced by space
		UnsafeNoFsync:          cfg.UnsafeNoFsync,
		BackendFreelistType:    bolt.FreelistMapType,
		MaxRequestBytes:        maxRequestBytes,
		MaxTxnOps:              128,

		WarningApplyDuration:        time.Second,
		WarningUnaryRequestDuration: time.Second,
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

// selfURL is the address of a single member.
func selfURL() url.URL { return url.URL{Scheme: "http", Host: "127.0.0.1:2380"} }
