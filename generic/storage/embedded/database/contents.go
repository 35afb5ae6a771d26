package database

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

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

// Add adds a problem.
func (e *DamagedError) Add(format string, args ...any) {
	if len(e.Problems) < shownProblems {
		e.Problems = append(e.Problems, fmt.Sprintf(format, args...))
	} else {
		e.More++
	}
}

// Err returns e, or nil if there are no problems.
func (e *DamagedError) Err() error {
	if len(e.Problems) == 0 {
		return nil
	}
	return e
}

// CompareAll compares with the snapshots of a directory.
func (c *Contents) CompareAll(dir string, found *DamagedError) error {
	names, err := fs.Glob(os.DirFS(dir), "*.db")
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		then, err := ReadSnapshot(path)
		if err != nil {
			c.Unusable = append(c.Unusable, err)
			continue
		}
		c.compare(then, path, found)
		c.Compared = append(c.Compared, path)
	}
	return nil
}

// VerifySnapshot verifies the checksum of a snapshot and that it can be opened.
func VerifySnapshot(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read-only
	info, err := f.Stat()
	if err != nil {
		return err
	}
	const pages = 512 // the size of a database is a multiple of it
	length := info.Size() - sha256.Size
	if length <= 0 || length%pages != 0 {
		return fmt.Errorf("%s is not a complete snapshot", path)
	}
	sum, want := sha256.New(), make([]byte, sha256.Size)
	if _, err := io.CopyN(sum, f, length); err != nil {
		return err
	}
	if _, err := io.ReadFull(f, want); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return fmt.Errorf("%s is damaged: its checksum is wrong", path)
	}
	if err := walk(path, checkEntry); err != nil {
		return fmt.Errorf("%s was made of a damaged store: %w", path, err)
	}
	return nil
}

// ReadSnapshot verifies a snapshot and returns its contents.
func ReadSnapshot(path string) (*Contents, error) {
	if err := VerifySnapshot(path); err != nil {
		return nil, err
	}
	held, err := Read(path, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return held, nil
}

// Read reads a database file or a snapshot. value may be nil.
func Read(path string, value func(string, []byte) error) (*Contents, error) {
	held, found := &Contents{sums: map[sumKey]storedSum{}, live: map[string]liveKey{}}, &DamagedError{}
	err := walk(path, func(bucket string, key, stored []byte) error {
		if err := checkEntry(bucket, key, stored); err != nil {
			found.Add("%v", err)
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
	return held, found.Err()
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
			found.Add("%s at revision %d: %v", key, r.main, err)
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
	found.Add("%s at revision %d: version %d does not follow what is stored before it", key, r.main, r.version)
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
			found.Add("%s at revision %d differs from %s", was.key, at.main, snapshot)
		case !here && at.main > c.Compacted, !here && c.Compacted <= then.Revision && !was.deleted &&
			then.live[was.key].at == at:
			found.Add("%s at revision %d of %s is missing", was.key, at.main, snapshot)
		}
	}
	for at, is := range c.sums {
		if _, was := then.sums[at]; !was && at.main <= then.Revision && at.main > then.Compacted {
			found.Add("%s at revision %d is not in %s", is.key, at.main, snapshot)
		}
	}
}
