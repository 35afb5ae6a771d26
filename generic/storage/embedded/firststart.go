package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage/embedded/database"
)

// discardUncommitted removes what the first start leaves if it is killed: a log without committed entries, from
// which etcd would not start. Nothing was acknowledged then. Files that cannot be read are kept.
func discardUncommitted(dir string) error {
	member := filepath.Join(dir, "member")
	logs, err := fs.Glob(os.DirFS(member), "wal/*.wal")
	if err != nil || len(logs) != 1 {
		return err
	}
	snapshots, err := fs.Glob(os.DirFS(member), "snap/*.snap*")
	if err != nil || len(snapshots) > 0 {
		return err
	}
	if begun, err := committed(filepath.Join(member, logs[0])); begun || err != nil {
		return err
	}
	if begun, err := applied(database.Path(dir)); begun || err != nil {
		return err
	}
	klog.InfoS("Recreating the data directory, its first start did not complete", "dir", dir)
	if err := os.RemoveAll(member); err != nil {
		return fmt.Errorf("data directory %s: %w", dir, err)
	}
	return nil
}

// committed reports whether a log has committed entries. It reads only up to the first one. For a log that
// cannot be read it returns true, so that etcd reports the error.
func committed(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // read-only
	d := wal.NewDecoder(fileutil.NewFileReader(f))
	for {
		var record walpb.Record
		err := d.Decode(&record)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil {
			return true, nil
		}
		var state raftpb.HardState
		if record.GetType() != wal.StateType {
			continue
		}
		if err := proto.Unmarshal(record.Data, &state); err != nil || state.GetCommit() > 0 {
			return true, nil
		}
	}
}

// applied reports whether a database has applied entries of the log. A missing or empty database has none.
func applied(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	begun := false
	err = database.View(path, func(tx *bolt.Tx) error {
		if meta := tx.Bucket([]byte("meta")); meta != nil {
			index := meta.Get([]byte("consistent_index"))
			begun = len(index) == 8 && binary.BigEndian.Uint64(index) > 0
		}
		return nil
	})
	return begun || err != nil, nil // etcd reports the error of an unreadable database
}
