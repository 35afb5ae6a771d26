package bootstrap

import (
	"context"
	"errors"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// replicaLease is a key that ends with its replica: an Endpoints object in
// kube-apiserver's storage form.
type replicaLease struct {
	backend storage.Backend
	form    wire.StoredForm
	key     string
	object  corev1.Endpoints
}

// newReplicaLease makes the lease at a key below the prefix of all keys.
func newReplicaLease(options registry.RESTOptions, key string, object corev1.Endpoints) replicaLease {
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Endpoints"))
	return replicaLease{backend: options.Backend, form: options.Form, key: options.Prefix + key, object: object}
}

// renew writes the key for a while; the generation makes each value differ.
func (l *replicaLease) renew(ctx context.Context, ttl time.Duration) error {
	l.object.Generation++
	value, err := wire.AppendStored(nil, l.object.GroupVersionKind(), &l.object, l.form)
	if err != nil {
		return err
	}
	kv, err := l.backend.Get(ctx, l.key)
	if errors.Is(err, storage.ErrNotFound) {
		_, err = l.backend.Create(ctx, l.key, value, ttl)
		return err
	}
	if err != nil {
		return err
	}
	_, err = l.backend.Update(ctx, l.key, value, kv.Revision, ttl)
	return err
}

// remove takes the key away; that it is gone already is fine.
func (l *replicaLease) remove(ctx context.Context) error {
	for {
		kv, err := l.backend.Get(ctx, l.key)
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		var conflict *storage.ConflictError
		if _, err = l.backend.Delete(ctx, kv.Key, kv.Revision); !errors.As(err, &conflict) {
			return err
		}
		// A replica of the same address was faster: look again.
	}
}

// PeerHook is the name of the hook that keeps this replica known to its peers.
const PeerHook = "peer-endpoint-reconciler-controller"

// Peer announces the address of this replica to the others: a key below peerserverleases.
type Peer struct{ lease replicaLease }

// NewPeer makes the keeper of the key of the replica with an identity.
func NewPeer(options registry.RESTOptions, identity string, ip net.IP, port int) *Peer {
	return &Peer{newReplicaLease(options, peerLeases+identity, corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"apiserverIdentity": identity}},
		Subsets: []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: ip.String()}},
			Ports:     []corev1.EndpointPort{{Name: "https", Port: int32(port), Protocol: corev1.ProtocolTCP}},
		}},
	})}
}

// Renew prolongs the lease of the key.
func (p *Peer) Renew(ctx context.Context) error { return p.lease.renew(ctx, masterLeaseTTL) }

// Keep renews until the context ends.
func (p *Peer) Keep(ctx context.Context) {
	every(ctx, masterLeaseRenew, func() {
		if err := p.Renew(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Renewing the lease for peers failed")
		}
	})
}

// Leave takes this replica from its peers.
func (p *Peer) Leave(ctx context.Context) error { return p.lease.remove(ctx) }
