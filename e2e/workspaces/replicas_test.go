// Replicas over one store: one that has not learned of a deletion yet, and one that ends.
package workspaces

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/workspaces"
)

// lagging is a backend whose watches can be held: they deliver nothing then.
type lagging struct {
	storage.Backend
	held sync.RWMutex
}

// Watch implements storage.Backend.
func (l *lagging) Watch(ctx context.Context, prefix string, from int64, previous func(string) bool) (storage.ChangeStream, error) {
	stream, err := l.Backend.Watch(ctx, prefix, from, previous)
	return laggingStream{stream, l}, err
}

type laggingStream struct {
	storage.ChangeStream
	backend *lagging
}

// Next implements storage.ChangeStream.
func (s laggingStream) Next(ctx context.Context) ([]storage.Change, int64, error) {
	changes, progress, err := s.ChangeStream.Next(ctx)
	s.backend.held.RLock()
	defer s.backend.held.RUnlock()
	return changes, progress, err
}

// A replica that has not learned that a workspace was deleted and created again acknowledges no write, because the write
// would be to the deleted one.
func TestWritesOfAReplicaThatLags(t *testing.T) {
	backend := memory.New()
	late := &lagging{Backend: backend}
	s, replica := startOn(t, backend), startOn(t, late)
	ctx := bounded(t)
	create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	of, through := clientOf(t, s.InWorkspace("a")).CoreV1().ConfigMaps("default"), clientOf(t, replica.InWorkspace("a")).CoreV1().ConfigMaps("default")
	if _, err := through.Create(ctx, settings("first"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	old, err := objects(t, s).Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	late.held.Lock()
	if err := objects(t, s).Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the deletion", func() (bool, error) {
		_, err := objects(t, s).Get(ctx, "a", metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoring(err, apierrors.IsNotFound)
	})
	create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	if _, err := of.Create(ctx, settings("second"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := through.Create(short, settings("late"), metav1.CreateOptions{}); err == nil {
		t.Error("a write to the deleted workspace was acknowledged")
	}
	if err := through.Delete(short, "first", metav1.DeleteOptions{}); err == nil {
		t.Error("a deletion in the deleted workspace was acknowledged")
	}
	late.held.Unlock()
	await(t, "a write after the replica has caught up", func() (bool, error) {
		_, err := through.Create(ctx, settings("third"), metav1.CreateOptions{})
		// Until it stops the deleted workspace, the replica may see that the namespace is gone.
		return err == nil, ignoring(ignoring(err, apierrors.IsServiceUnavailable), apierrors.IsNotFound)
	})
	if _, err := of.Get(ctx, "third", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	kept, err := backend.Range(ctx, storage.RangeOptions{Prefix: "/registry/.workspaces/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range kept.Items {
		if strings.Contains(kv.Key, string(old.GetUID())) {
			t.Errorf("left of the deleted workspace is %s", kv.Key)
		}
	}
}

// A workspace whose object was deleted without its finalizer, by a replica that ended then, is erased by the next one.
func TestLostWorkspacesAreErased(t *testing.T) {
	backend := memory.New()
	var prefix string
	t.Run("first", func(t *testing.T) {
		s := startOn(t, backend)
		create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		if _, err := clientOf(t, s.InWorkspace("a")).CoreV1().ConfigMaps("default").Create(bounded(t), settings("first"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w, err := objects(t, s).Get(bounded(t), "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		prefix = "/registry/" + workspaces.Path("a", w.GetUID()) + "/"
	})
	ctx := bounded(t)
	key := "/registry/workspaces.triplane.dev/workspaces/a"
	kv, err := backend.Get(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backend.Delete(ctx, key, kv.Revision); err != nil {
		t.Fatal(err)
	}
	startOn(t, backend)
	await(t, "the deletion of its keys", func() (bool, error) {
		left, err := backend.Range(ctx, storage.RangeOptions{Prefix: prefix})
		return len(left.Items) == 0, err
	})
}
