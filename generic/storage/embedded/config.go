package embedded

import (
	"errors"
	"net/url"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/features"
	"go.uber.org/zap"

	"triplane/generic/storage/etcd"
)

// Config says where the data is kept.
type Config struct {
	// Dir is etcd's data directory; it is made if it does not exist.
	Dir string
	// QuotaBytes bounds the database file; 8 GiB unless set.
	QuotaBytes int64
	Leases     etcd.LeaseOptions
}

const (
	memberName   = "triplane"
	defaultQuota = 8 << 30

	// Nobody else votes, so nothing depends on these but how often the raft
	// loop wakes up, and the shortest lease (1.5 times their product).
	tickMs        = 250
	electionTicks = 4

	// snapshotCount is after how many writes the log on disk is cut: it bounds
	// what is read again at the next start.
	snapshotCount = 2_000
	// catchUpEntries is how many entries stay in memory behind what is applied.
	// A member that is alone has no followers that need them, but raft looks for
	// configuration changes in all that was read at the start when the member
	// campaigns, and panics if some of it is gone already: more is kept than a
	// start can read, until the start is over. Entries may be as large as
	// maxRequestBytes, so that it is the number that bounds their bytes: etcd
	// looks every hundred entries.
	catchUpEntries = 3 * snapshotCount
	keptEntries    = 16

	// maxRequestBytes is etcd's own default: a value that a cluster would not
	// take is not taken here either.
	maxRequestBytes = 1.5 * 1024 * 1024
)

// serverConfig is etcd's configuration for a cluster of this one member.
func serverConfig(cfg Config, lg *zap.Logger) (config.ServerConfig, error) {
	if cfg.Dir == "" {
		return config.ServerConfig{}, errors.New("embedded etcd: no data directory given")
	}
	if cfg.QuotaBytes <= 0 {
		cfg.QuotaBytes = defaultQuota
	}
	// The member must have an address to have an identity; nothing listens.
	self := types.URLs{url.URL{Scheme: "http", Host: "127.0.0.1:2380"}}
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

		SnapshotCount:          snapshotCount,
		SnapshotCatchUpEntries: catchUpEntries,
		MaxSnapFiles:           2,
		MaxWALFiles:            2,
		QuotaBackendBytes:      cfg.QuotaBytes,
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
	}, nil
}
