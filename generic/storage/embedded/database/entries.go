package database

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/lease/leasepb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The bucket of revisions, and the lengths of its keys: main revision, "_", sub revision, and a mark if the key
// was deleted.
const (
	keyBucket     = "key"
	revisionBytes = 17
	deletedMark   = 't'
)

// storedRevision is a revision of a key in the database. Its slices are those of the file.
type storedRevision struct {
	main, created, version int64
	deleted                bool
	key, value             []byte
}

// checkEntry returns an error for an entry on which etcd would crash, or which it would misinterpret.
func checkEntry(bucket string, key, value []byte) error {
	var err error
	switch bucket {
	case keyBucket:
		_, err = parseRevision(key, value)
	case "meta":
		err = checkMeta(string(key), value)
	case "lease":
		var l leasepb.Lease
		if err = proto.Unmarshal(value, &l); err == nil && (len(key) != 8 || uint64(l.ID) != binary.BigEndian.Uint64(key)) {
			err = errors.New("it belongs to another lease")
		}
	case "alarm":
		err = proto.Unmarshal(key, new(pb.AlarmMember))
	case "members", "members_removed":
		if _, err = types.IDFromString(string(key)); err == nil && bucket == "members" && !json.Valid(value) {
			err = errors.New("it is not JSON")
		}
	case "authUsers":
		err = proto.Unmarshal(value, new(authpb.User))
	case "authRoles":
		err = proto.Unmarshal(value, new(authpb.Role))
	case "auth":
		if string(key) == "authRevision" && len(value) != 8 {
			err = errLength
		}
	}
	if err != nil {
		return fmt.Errorf("entry %q of bucket %s: %w", key, bucket, err)
	}
	return nil
}

var errLength = errors.New("it has an invalid length")

func checkMeta(key string, value []byte) error {
	switch key {
	case "consistent_index", "term":
		if len(value) != 8 {
			return errLength
		}
	case "scheduledCompactRev", "finishedCompactRev":
		if len(value) != revisionBytes || value[8] != '_' || int64(binary.BigEndian.Uint64(value)) < 0 {
			return errors.New("it is not a revision")
		}
	case "confState":
		if !json.Valid(value) {
			return errors.New("it is not JSON")
		}
	}
	return nil
}

// parseRevision decodes an entry of the bucket of revisions.
func parseRevision(at, value []byte) (storedRevision, error) {
	if len(at) != revisionBytes && (len(at) != revisionBytes+1 || at[revisionBytes] != deletedMark) || at[8] != '_' {
		return storedRevision{}, errors.New("it is not a revision")
	}
	r := storedRevision{main: int64(binary.BigEndian.Uint64(at)), deleted: len(at) > revisionBytes}
	if r.main <= 0 || int64(binary.BigEndian.Uint64(at[9:])) < 0 {
		return r, errors.New("it is not a revision")
	}
	if len(value) == 0 {
		return r, nil // the last entry of a restored snapshot
	}
	modified := int64(0)
	for len(value) > 0 {
		number, kind, n := protowire.ConsumeTag(value)
		if n < 0 {
			return r, protowire.ParseError(n)
		}
		value = value[n:]
		var err error
		switch {
		case number == 1 && kind == protowire.BytesType:
			r.key, n = protowire.ConsumeBytes(value)
		case number == 5 && kind == protowire.BytesType:
			r.value, n = protowire.ConsumeBytes(value)
		case number == 2 && kind == protowire.VarintType:
			r.created, n = consumeNumber(value)
		case number == 3 && kind == protowire.VarintType:
			modified, n = consumeNumber(value)
		case number == 4 && kind == protowire.VarintType:
			r.version, n = consumeNumber(value)
		case number == 6 && kind == protowire.VarintType:
			_, n = consumeNumber(value)
		default:
			err = fmt.Errorf("unknown field %d of type %d", number, kind)
		}
		if err == nil {
			err = protowire.ParseError(min(n, 0))
		}
		if err != nil {
			return r, err
		}
		value = value[n:]
	}
	switch {
	case len(r.key) == 0:
		return r, errors.New("it has no key")
	case r.deleted && (modified != 0 || r.created != 0 || r.version != 0),
		!r.deleted && (modified != r.main || r.created <= 0 || r.created > r.main || r.version < 1):
		return r, fmt.Errorf("%s is at revision %d, created at %d, version %d, and stored as that of %d", r.key, modified,
			r.created, r.version, r.main)
	}
	return r, nil
}

func consumeNumber(b []byte) (int64, int) {
	v, n := protowire.ConsumeVarint(b)
	return int64(v), n
}
