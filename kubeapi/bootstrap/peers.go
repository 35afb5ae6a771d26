package bootstrap

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/wire"
)

const peerLeases = "/peerserverleases/"

// PeerFollower follows the keys by which other servers of the same storage announce
// themselves (see Peer).
type PeerFollower struct {
	Backend     storage.Backend
	Multiplexer *cache.Multiplexer
	Prefix      string // of all keys
	Self        string // the identity of this server
}

// Run calls seen with the identity and the host:port of each other server, again whenever
// it renews its key, and with "" when its key is gone, until ctx ends. It calls listed
// after all that there are at first.
func (f *PeerFollower) Run(ctx context.Context, seen func(identity, address string), listed func()) {
	tap := f.Multiplexer.Tap(nil)
	defer tap.Stop()
	known := map[string]bool{}
	note := func(identity, address string) {
		if identity == f.Self {
			return
		}
		known[identity] = address != ""
		seen(identity, address)
	}
	if !f.list(ctx, note, known) {
		return
	}
	listed()
	for {
		changes, lost, err := tap.Next(ctx)
		if err != nil || lost && !f.list(ctx, note, known) {
			return
		}
		for i := range changes {
			if identity, ok := strings.CutPrefix(changes[i].Key, f.Prefix+peerLeases); ok {
				note(identity, peerAddress(changes[i].Value))
			}
		}
	}
}

// list notes all keys, and which known ones are gone. It tries until ctx ends, and returns
// false then.
func (f *PeerFollower) list(ctx context.Context, note func(identity, address string), known map[string]bool) bool {
	for {
		prefix := f.Prefix + peerLeases
		all, err := f.Backend.Range(ctx, storage.RangeOptions{Prefix: prefix})
		if err == nil {
			there := map[string]bool{}
			for i := range all.Items {
				identity := strings.TrimPrefix(all.Items[i].Key, prefix)
				there[identity] = true
				note(identity, peerAddress(all.Items[i].Value))
			}
			for identity := range known {
				if !there[identity] {
					note(identity, "")
				}
			}
			return true
		}
		klog.V(2).InfoS("The other servers cannot be listed, will retry", "err", err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Second):
		}
	}
}

// peerAddress is the host:port in a key's value; "" where there is none.
func peerAddress(value []byte) string {
	e := &corev1.Endpoints{}
	if len(value) == 0 || wire.UnmarshalStored(value, e) != nil {
		return ""
	}
	for _, s := range e.Subsets {
		if len(s.Addresses) > 0 && len(s.Ports) > 0 {
			return net.JoinHostPort(s.Addresses[0].IP, strconv.Itoa(int(s.Ports[0].Port)))
		}
	}
	return ""
}
