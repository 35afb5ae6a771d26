package embedded

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/etcd/server/v3/storage/datadir"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"k8s.io/klog/v2"
)

// Verification configures the verification of a store that no server uses. It reads all of the store.
type Verification struct {
	// Snapshots is a directory of snapshots of the store to compare it with: a revision of a key never changes.
	// "" skips the comparison.
	Snapshots string
	// Value, if set, returns an error if a stored value cannot be decoded.
	Value func(key string, value []byte) error
}

// Contents describes the content of a store.
type Contents struct {
	Revision, Compacted int64
	Keys, Revisions     int
	// Hash is a SHA-256 over the keys at Revision, their values and their modification revisions. It does not
	// depend on compaction.
	Hash string
	// Compared are the snapshots that the store was compared with.
	Compared []string
	// Unusable are the errors of snapshots that cannot be compared, and not be restored either.
	Unusable []error

	sums map[sumKey]storedSum
	live map[string]liveKey
	// orphans are revisions without a preceding one, which was compacted or is missing.
	orphans []orphan
}

type orphan struct {
	key string
	of  storedRevision
}

type sumKey struct{ main, sub int64 }

// storedSum is the checksum of a key and its value.
type storedSum struct {
	sum     [sha256.Size]byte
	key     string
	deleted bool
}

type liveKey struct {
	at      sumKey
	version int64
}

// DamagedError lists the first problems of a damaged store.
type DamagedError struct {
	Problems []string
	More     int
}

func (e *DamagedError) Error() string {
	text := fmt.Sprintf("%d problems were found", len(e.Problems)+e.More)
	for _, problem := range e.Problems {
		text += "; " + problem
	}
	return text
}

// shownProblems limits the number of listed problems.
const shownProblems = 20

func (e *DamagedError) add(format string, args ...any) {
	if len(e.Problems) < shownProblems {
		e.Problems = append(e.Problems, fmt.Sprintf(format, args...))
	} else {
		e.More++
	}
}

// err returns e, or nil if there are no problems.
func (e *DamagedError) err() error {
	if len(e.Problems) == 0 {
		return nil
	}
	return e
}

// Verify verifies the files of a member's directory that no server uses. It checks the pages of the database
// and their order, the revisions, the values, and the checksums of the log. It also compares the revisions with
// the snapshots. The error is a *DamagedError, or that of reading a file.
func Verify(dir string, v Verification) (*Contents, error) {
	if _, err := os.Stat(filepath.Join(dir, "member")); err != nil {
		return nil, fmt.Errorf("no store found: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	held, err := v.verify(dir)
	return held, errors.Join(err, lock.Close())
}

// logged runs verify at a start and logs the result.
func (v *Verification) logged(dir string) error {
	if info, err := os.Stat(Database(dir)); err != nil || info.Size() == 0 {
		return nil
	}
	began := time.Now()
	held, err := v.verify(dir)
	if err != nil {
		return fmt.Errorf("the store is damaged: %w", err)
	}
	for _, err := range held.Unusable { // does not affect the store itself
		klog.ErrorS(err, "Found a snapshot of the embedded store that cannot be restored: remove it")
	}
	klog.InfoS("Verified the embedded store", "revision", held.Revision, "keys", held.Keys, "hash", held.Hash, "snapshots",
		held.Compared, "took", time.Since(began))
	return nil
}

func (v *Verification) verify(dir string) (*Contents, error) {
	if _, err := checkDatabase(dir); err != nil {
		return nil, err
	}
	held, err := readContents(Database(dir), v.Value)
	if err != nil {
		return held, err
	}
	found := &DamagedError{}
	if err := verifyLog(dir); err != nil {
		found.add("the log: %v", err)
	}
	if v.Snapshots != "" {
		if err := held.compareAll(v.Snapshots, found); err != nil {
			return held, err
		}
	}
	return held, found.err()
}

// compareAll compares with the snapshots of a directory.
func (c *Contents) compareAll(dir string, found *DamagedError) error {
	names, err := fs.Glob(os.DirFS(dir), "*.db")
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		then, err := readSnapshot(path)
		if err != nil {
			c.Unusable = append(c.Unusable, err)
			continue
		}
		c.compare(then, path, found)
		c.Compared = append(c.Compared, path)
	}
	return nil
}

// readSnapshot verifies a snapshot and returns its contents.
func readSnapshot(path string) (*Contents, error) {
	if err := VerifySnapshot(path); err != nil {
		return nil, err
	}
	held, err := readContents(path, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return held, nil
}

// verifyLog verifies the checksums of the log. An incomplete end, as after a kill, is valid.
func verifyLog(dir string) error {
	return guarded(func() error {
		at, err := wal.ValidSnapshotEntries(newLogger(), datadir.ToWALDir(dir))
		if err != nil || len(at) == 0 {
			return err
		}
		_, err = wal.Verify(newLogger(), datadir.ToWALDir(dir), at[len(at)-1])
		return err
	})
}

// readContents reads a database file or a snapshot. value may be nil.
func readContents(path string, value func(string, []byte) error) (*Contents, error) {
	held, found := &Contents{sums: map[sumKey]storedSum{}, live: map[string]liveKey{}}, &DamagedError{}
	err := walkDatabase(path, func(bucket string, key, stored []byte) error {
		if err := checkEntry(bucket, key, stored); err != nil {
			found.add("%v", err)
			return nil
		}
		switch {
		case bucket == "meta" && (string(key) == "finishedCompactRev" || string(key) == "scheduledCompactRev"):
			held.Compacted = max(held.Compacted, int64(binary.BigEndian.Uint64(stored)))
		case bucket == keyBucket:
			held.add(key, stored, value, found)
		}
		return nil
	})
	if err != nil {
		return held, err
	}
	for _, o := range held.orphans { // after all buckets, because the compacted revision is in a later one
		if o.of.main > held.Compacted {
			held.unordered(o.key, o.of, found)
		}
	}
	held.Revision = max(held.Revision, held.Compacted)
	held.Keys, held.Revisions = len(held.live), len(held.sums)
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(held.live)) {
		at := held.live[key].at
		one := held.sums[at].sum
		_, _ = fmt.Fprintf(sum, "%q %d %d %x\n", key, at.main, at.sub, one)
	}
	held.Hash = hex.EncodeToString(sum.Sum(nil))
	return held, found.err()
}

// add adds a revision of a key and compares it with the preceding one, unless that is compacted.
func (c *Contents) add(at, stored []byte, value func(string, []byte) error, found *DamagedError) {
	r, err := parseRevision(at, stored)
	if err != nil || len(r.key) == 0 {
		c.Revision = max(c.Revision, r.main)
		return // checkEntry has reported the error, or the entry has only a revision
	}
	key, where := string(r.key), sumKey{r.main, int64(binary.BigEndian.Uint64(at[9:]))}
	last, is := c.live[key]
	switch {
	case r.deleted && !is, !r.deleted && !is && r.version != 1:
		c.orphans = append(c.orphans, orphan{key, storedRevision{main: r.main, version: r.version}})
	case !r.deleted && is && r.version != last.version+1:
		c.unordered(key, r, found)
	}
	if !r.deleted && value != nil {
		if err := value(key, r.value); err != nil {
			found.add("%s at revision %d: %v", key, r.main, err)
		}
	}
	c.Revision = max(c.Revision, r.main)
	c.sums[where] = storedSum{sha256.Sum256(stored), key, r.deleted}
	if r.deleted {
		delete(c.live, key)
	} else {
		c.live[key] = liveKey{where, r.version}
	}
}

// unordered reports a revision that does not follow the preceding one.
func (c *Contents) unordered(key string, r storedRevision, found *DamagedError) {
	found.add("%s at revision %d: version %d does not follow what is stored before it", key, r.main, r.version)
}

// compare compares the revisions of a snapshot with those of the store, except compacted ones.
func (c *Contents) compare(then *Contents, snapshot string, found *DamagedError) {
	if then.Revision > c.Revision {
		return // the snapshot is newer, or of another store
	}
	for at, was := range then.sums {
		is, here := c.sums[at]
		switch {
		case here && is.sum != was.sum:
			found.add("%s at revision %d differs from %s", was.key, at.main, snapshot)
		case !here && at.main > c.Compacted, !here && c.Compacted <= then.Revision && !was.deleted &&
			then.live[was.key].at == at:
			found.add("%s at revision %d of %s is missing", was.key, at.main, snapshot)
		}
	}
	for at, is := range c.sums {
		if _, was := then.sums[at]; !was && at.main <= then.Revision && at.main > then.Compacted {
			found.add("%s at revision %d is not in %s", is.key, at.main, snapshot)
		}
	}
}
