package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
)

// neighbour changes config maps in etcd by itself, as another server with kube-apiserver's layout
// does: in transactions on the revision of the key, encoded in protobuf.
type neighbour struct {
	store     *clientv3.Client
	namespace string
}

var _ oracle.Writer = neighbour{}

func (n neighbour) key(name string) string { return "/registry/configmaps/" + n.namespace + "/" + name }

// put writes where the key is at a revision still, 0 where there is none, and returns the object as it
// is read then; nil where the key is at another one.
func (n neighbour) put(ctx context.Context, c *corev1.ConfigMap, at int64) (*corev1.ConfigMap, error) {
	c.ResourceVersion = "" // which is that of the key
	var encoded bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(c, &encoded); err != nil {
		return nil, err
	}
	key := n.key(c.Name)
	done, err := n.store.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", at)).
		Then(clientv3.OpPut(key, encoded.String())).Commit()
	if err != nil || !done.Succeeded {
		return nil, err
	}
	c.ResourceVersion = fmt.Sprint(done.Header.Revision)
	return c, nil
}

func (n neighbour) get(ctx context.Context, name string) (*corev1.ConfigMap, int64, error) {
	got, err := n.store.Get(ctx, n.key(name))
	if err != nil {
		return nil, 0, err
	}
	if len(got.Kvs) == 0 {
		return nil, 0, apierrors.NewNotFound(corev1.Resource("configmaps"), name)
	}
	c := &corev1.ConfigMap{}
	_, _, err = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(got.Kvs[0].Value, nil, c)
	return c, got.Kvs[0].ModRevision, err
}

// Create implements oracle.Writer.
func (n neighbour) Create(ctx context.Context, c *corev1.ConfigMap, _ metav1.CreateOptions) (*corev1.ConfigMap, error) {
	c = c.DeepCopy()
	c.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	c.Namespace, c.UID, c.CreationTimestamp = n.namespace, uuid.NewUUID(),
		metav1.NewTime(time.Now().Truncate(time.Second))
	made, err := n.put(ctx, c, 0)
	if made == nil && err == nil {
		err = apierrors.NewAlreadyExists(corev1.Resource("configmaps"), c.Name)
	}
	return made, err
}

// Update implements oracle.Writer.
func (n neighbour) Update(ctx context.Context, c *corev1.ConfigMap, _ metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	for {
		now, at, err := n.get(ctx, c.Name)
		if err != nil {
			return nil, err
		}
		now.Data = c.Data
		if done, err := n.put(ctx, now, at); done != nil || err != nil {
			return done, err
		}
	}
}

// Delete implements oracle.Writer.
func (n neighbour) Delete(ctx context.Context, name string, _ metav1.DeleteOptions) error {
	done, err := n.store.Delete(ctx, n.key(name))
	if err == nil && done.Deleted == 0 {
		err = apierrors.NewNotFound(corev1.Resource("configmaps"), name)
	}
	return err
}

// TestMixed has two servers and a third writer use one etcd, change the same objects in turn, and
// servers be killed. Each sees what the others did.
func TestMixed(t *testing.T) {
	together(t)
	etcd := harness.StartEtcd(t)
	store, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	args := []string{"--etcd-servers=" + etcd, "--etcd-compaction-interval=2s"}
	servers := []*harness.Server{harness.Start(t, args...), harness.Start(t, args...)}
	const namespace = "kube-public"
	ways := []oracle.Writer{neighbour{store, namespace}}
	var clients []kubernetes.Interface
	for _, s := range servers {
		client := kubernetes.NewForConfigOrDie(s.Config)
		clients, ways = append(clients, client), append(ways, client.CoreV1().ConfigMaps(namespace))
	}
	f := oracle.Follow(t, clients[0], clients[1])
	f.Also(neighbour{store, "default"})
	writes := oracle.NewWrites(namespace)
	n := rounds(t, 2, func(int) {
		f.More(t, 50)
		s := servers[rand.IntN(len(servers))]
		writes.Through(t, ways, 50+rand.IntN(100), s.Kill)
		s.Restart(t)
		for _, s := range servers {
			writes.Check(t, s.Config)
		}
	})
	f.More(t, 50)
	f.End(t)
	note(t, "no acknowledged write is lost, whoever made it; no event is missed or invented",
		"%d kills of two servers beside a third writer in kube-apiserver's layout; %d acknowledged writes; %d added, %d updated, %d deleted",
		n, writes.Acknowledged(), f.Adds, f.Updates, f.Deletes)
}
