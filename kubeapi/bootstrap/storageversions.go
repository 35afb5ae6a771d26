package bootstrap

import (
	"cmp"
	"context"
	"slices"

	internalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	internalv1alpha1client "k8s.io/client-go/kubernetes/typed/apiserverinternal/v1alpha1"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"triplane.dev/kubeapi/group"
)

// StorageVersionsHook is the name of the hook that publishes storage versions.
const StorageVersionsHook = "built-in-resources-storage-version-updater"

// StorageVersions publishes in which version a server, by its identity, stores each
// built-in resource (KEP-2339).
func StorageVersions(ctx context.Context, config *restclient.Config, server string, stores *group.Stores) error {
	client, err := internalv1alpha1client.NewForConfig(config)
	if err != nil {
		return err
	}
	for gr, store := range stores.All() {
		r := store.Resource()
		own := internalv1alpha1.ServerStorageVersion{
			APIServerID: server, EncodingVersion: r.StorageVersion.GroupVersion().String(),
			DecodableVersions: texts(store.DecodableVersions()), ServedVersions: texts(r.Versions),
		}
		name := cmp.Or(gr.Group, "core") + "." + gr.Resource
		if err := retry.RetryOnConflict(retry.DefaultBackoff,
			func() error { return publish(ctx, client.StorageVersions(), name, own) }); err != nil {
			return err
		}
	}
	return nil
}

func texts(versions []schema.GroupVersion) []string {
	var out []string
	for _, v := range versions {
		out = append(out, v.String())
	}
	return out
}

// publish enters a server in what is known of a resource.
func publish(ctx context.Context, client internalv1alpha1client.StorageVersionInterface, name string,
	own internalv1alpha1.ServerStorageVersion) error {
	v, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		v, err = client.Create(ctx, &internalv1alpha1.StorageVersion{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // another server was faster
			v, err = client.Get(ctx, name, metav1.GetOptions{})
		}
	}
	if err != nil {
		return err
	}
	enter(v, own)
	_, err = client.UpdateStatus(ctx, v, metav1.UpdateOptions{})
	return err
}

// enter enters a server, and says whether all encode in the same version.
func enter(v *internalv1alpha1.StorageVersion, own internalv1alpha1.ServerStorageVersion) {
	s := &v.Status
	s.StorageVersions = slices.DeleteFunc(s.StorageVersions,
		func(o internalv1alpha1.ServerStorageVersion) bool { return o.APIServerID == own.APIServerID })
	s.StorageVersions = append(s.StorageVersions, own)
	c := internalv1alpha1.StorageVersionCondition{
		Type: internalv1alpha1.AllEncodingVersionsEqual, Status: internalv1alpha1.ConditionTrue,
		ObservedGeneration: v.Generation,
		LastTransitionTime: metav1.Now(), Reason: "CommonEncodingVersionSet", Message: "Common encoding version set",
	}
	s.CommonEncodingVersion = &own.EncodingVersion
	if slices.ContainsFunc(s.StorageVersions,
		func(o internalv1alpha1.ServerStorageVersion) bool { return o.EncodingVersion != own.EncodingVersion }) {
		s.CommonEncodingVersion = nil
		c.Status, c.Reason, c.Message = internalv1alpha1.ConditionFalse, "CommonEncodingVersionUnset",
			"Common encoding version unset"
	}
	for i := range s.Conditions {
		if have := &s.Conditions[i]; have.Type == c.Type {
			if have.Status == c.Status {
				c.LastTransitionTime = have.LastTransitionTime
			}
			*have = c
			return
		}
	}
	s.Conditions = append(s.Conditions, c)
}
