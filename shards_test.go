package triplane

import (
	"context"
	"hash/fnv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// startWithGates starts a server with feature gates.
func startWithGates(t *testing.T, gates string) *Server {
	t.Helper()
	o := testOptions(t.TempDir())
	if err := o.Compatibility.SetGates(gates); err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), o) // the server runs until this context ends
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	return s
}

func TestShards(t *testing.T) {
	const (
		low  = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
		high = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
	)
	roles := client(t, startWithGates(t, "ShardedListAndWatch=true")).RbacV1().ClusterRoles()
	whole, err := roles.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for selector, upper := range map[string]bool{low: false, high: true} {
		list, err := roles.List(t.Context(), metav1.ListOptions{ShardSelector: selector})
		if err != nil || list.ShardInfo == nil || list.ShardInfo.Selector != selector {
			t.Fatalf("%v, %v", list, err)
		}
		found += len(list.Items)
		for _, r := range list.Items {
			h := fnv.New64a()
			_, _ = h.Write([]byte(r.UID))
			if h.Sum64() >= 1<<63 != upper {
				t.Errorf("%s is not of %s", r.UID, selector)
			}
		}
		if got := watched(t, roles.Watch, selector); got != len(list.Items) {
			t.Errorf("%s: watched %d, listed %d", selector, got, len(list.Items))
		}
	}
	if found != len(whole.Items) || whole.ShardInfo != nil {
		t.Errorf("shards have %d of %d", found, len(whole.Items))
	}
	if _, err := roles.List(t.Context(), metav1.ListOptions{ShardSelector: "true"}); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "invalid shard selector") {
		t.Errorf("got %v", err)
	}
}

// watched counts the initial objects of a watch of a shard.
func watched(t *testing.T, begin func(context.Context, metav1.ListOptions) (watch.Interface, error), selector string) (n int) {
	t.Helper()
	yes := true
	w, err := begin(t.Context(), metav1.ListOptions{ShardSelector: selector, SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == watch.Bookmark {
			break
		}
		n++
	}
	return n
}
