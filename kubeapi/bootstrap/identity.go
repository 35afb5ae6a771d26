package bootstrap

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"net"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/kubeapi/group"
)

// Names of the hooks of this file.
const (
	IdentityHook        = "start-kube-apiserver-identity-lease-controller"
	IdentityGarbageHook = "start-kube-apiserver-identity-lease-garbage-collector"
)

const (
	identityLabel = "apiserver.kubernetes.io/identity"
	identitySpan  = int32(3600)
	identityRenew = 10 * time.Second

	// usualPort is where API servers listen unless they are told otherwise.
	usualPort = 6443
)

// Identity is the Lease that says that this replica lives.
type Identity struct {
	stores *group.Stores
	host   string
	name   string
	holder string
	peer   string // host:port of this replica, "" for none
}

// NewIdentity names this replica after its host, as kube-apiserver does, which so finds its lease, and the
// other way round. As there may be several on a host, one that others do not reach at the usual port is named
// after its address too.
func NewIdentity(stores *group.Stores, address *net.TCPAddr) *Identity {
	peer := ""
	if address != nil {
		peer = address.String()
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	parts := []string{host, "kube-apiserver"}
	if address != nil && address.Port != usualPort {
		parts = append(parts, peer)
	}
	name := identityOf(parts...)
	return &Identity{stores: stores, host: host, name: name, holder: name + "_" + string(uuid.NewUUID()), peer: peer}
}

// identityOf is the name of a replica: a hash of texts, each with its length.
func identityOf(parts ...string) string {
	var text []byte
	for _, p := range parts {
		text = append(binary.BigEndian.AppendUint16(text, uint16(len(p))), p...)
	}
	sum := sha256.Sum256(text)
	return "apiserver-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// Name is the name of the lease, which is that of this replica.
func (i *Identity) Name() string { return i.name }

// Renew creates the lease or prolongs it.
func (i *Identity) Renew(ctx context.Context) error {
	span, at := identitySpan, metav1.NowMicro()
	l := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: i.name, Namespace: metav1.NamespaceSystem,
			Labels: map[string]string{identityLabel: "kube-apiserver", "kubernetes.io/hostname": i.host},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &i.holder, LeaseDurationSeconds: &span, RenewTime: &at},
	}
	annotations := ""
	if i.peer != "" {
		l.Annotations = map[string]string{"kubernetes.io/peer-advertise-address": i.peer}
		annotations = `"f:annotations":{".":{},"f:kubernetes.io/peer-advertise-address":{}},`
	}
	l.ManagedFields = written("coordination.k8s.io/v1", `{"f:metadata":{`+annotations+
		`"f:labels":{".":{},"f:apiserver.kubernetes.io/identity":{},"f:kubernetes.io/hostname":{}}},"f:spec":{"f:holderIdentity":{},"f:leaseDurationSeconds":{},"f:renewTime":{}}}`)
	return put(ctx, group.Leases(i.stores), l, func(have *coordinationv1.Lease) bool {
		have.Spec, have.Labels, have.Annotations, have.ManagedFields = l.Spec, l.Labels, l.Annotations, l.ManagedFields
		return true
	})
}

// Keep renews the lease until the context ends.
func (i *Identity) Keep(ctx context.Context) {
	every(ctx, identityRenew, func() {
		if err := i.Renew(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Renewing the identity lease failed", "lease", i.name)
		}
	})
}

// CollectGarbage removes the leases of replicas that have gone, every hour, until
// the context ends.
func (i *Identity) CollectGarbage(ctx context.Context) {
	every(ctx, time.Duration(identitySpan)*time.Second, func() {
		if err := i.removeExpired(asServer(ctx)); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Removing identity leases failed")
		}
	})
}

func (i *Identity) removeExpired(ctx context.Context) error {
	leases := group.Leases(i.stores)
	all, err := leases.List(request.SkippingUnreadable(ctx), metav1.NamespaceSystem, &metainternalversion.ListOptions{
		LabelSelector: labels.SelectorFromSet(labels.Set{identityLabel: "kube-apiserver"}),
	})
	if err != nil {
		return err
	}
	remove := leases.Verbs().Delete
	if remove == nil {
		return nil
	}
	ctx = request.WithNamespace(ctx, metav1.NamespaceSystem)
	for _, l := range all {
		if l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil ||
			time.Since(l.Spec.RenewTime.Time) < time.Duration(*l.Spec.LeaseDurationSeconds)*time.Second {
			continue
		}
		unchanged := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &l.ResourceVersion}}
		_, _, err := remove(ctx, rest.DeleteRequest{Name: l.Name, Options: unchanged})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// every does something at intervals until the context ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			do()
		}
	}
}
