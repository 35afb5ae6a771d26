package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/host"
	"triplane/generic/storage/embedded"
	"triplane/kubeapi"
)

const storeUsage = `Verifies the files of the embedded store of a data directory that no server uses: the pages of the database, each
revision of a key, that each value can be decoded, and the sums of the log. Each revision is compared with the
snapshots of the data directory. The exit code is 1 where something is wrong.

Usage:
  triplane store verify [DIR] [flags]
`

// Store is the command store.
func Store(_ context.Context, args []string, out io.Writer) error {
	fs := pflag.NewFlagSet("store", pflag.ContinueOnError)
	dir := fs.String("data-dir", NewOptions().DataDir, "The data directory.")
	snapshots := fs.String("snapshot-dir", "", "Where snapshots are that it is compared with. If blank, the folder snapshots of the data directory.")
	if help, err := parse(fs, storeUsage, args, out); help || err != nil {
		return err
	}
	switch {
	case fs.NArg() == 2 && fs.Arg(0) == "verify":
		*dir = fs.Arg(1)
	case fs.NArg() != 1 || fs.Arg(0) != "verify":
		return errors.New("store takes verify, and a data directory; see triplane store --help")
	}
	if *snapshots == "" {
		*snapshots = filepath.Join(*dir, "snapshots")
	}
	held, err := host.HoldDataDir(*dir)
	if err != nil {
		return err
	}
	defer held.Release()
	found, err := embedded.Verify(filepath.Join(*dir, "etcd"), embedded.Verification{Snapshots: *snapshots, Value: newValueCheck()})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "keyspace   %s\nrevision   %d\ncompacted  %d\nkeys       %d\nrevisions  %d\nsnapshots  %s\n",
		found.Hash, found.Revision, found.Compacted, found.Keys, found.Revisions, strings.Join(found.Compared, " "))
	return err
}

// newValueCheck returns a function that returns why a stored value cannot be decoded. What is encrypted is not looked at,
// nor is what is of a kind that this server does not have more than its form.
func newValueCheck() func(key string, value []byte) error {
	scheme := kubeapi.NewScheme()
	return func(_ string, value []byte) error {
		rest, is := bytes.CutPrefix(value, []byte("k8s\x00"))
		switch {
		case is:
			return checkProtobuf(scheme, rest)
		case len(value) == 0, bytes.HasPrefix(value, []byte("k8s:enc:")), value[0] != '{' || json.Valid(value):
			return nil
		}
		return errors.New("it is no JSON")
	}
}

func checkProtobuf(scheme *runtime.Scheme, value []byte) error {
	var held runtime.Unknown
	if err := held.Unmarshal(value); err != nil {
		return err
	}
	obj, err := scheme.New(schema.FromAPIVersionAndKind(held.APIVersion, held.Kind))
	if runtime.IsNotRegisteredError(err) {
		return checkFields(held.Raw)
	}
	if err != nil {
		return err
	}
	message, is := obj.(interface{ Unmarshal([]byte) error })
	if !is {
		return checkFields(held.Raw)
	}
	return message.Unmarshal(held.Raw)
}

// checkFields returns an error for what is no message.
func checkFields(b []byte) error {
	for len(b) > 0 {
		_, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
	}
	return nil
}
