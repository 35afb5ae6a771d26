package registry

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage/wire"
)

const lost = "/registry/configmaps/ns/lost"

// An object that cannot be read is named by the errors of gets, lists and deletions; the
// others are served.
func TestUnreadable(t *testing.T) {
	s, m := newStore(t, configMapKind())
	must[*corev1.ConfigMap](t, create(s, configMap("a")))
	if _, err := m.Create(t.Context(), lost, []byte("k8s\x00\x0a\xff"), 0); err != nil {
		t.Fatal(err)
	}
	unread := func(what string, err error) {
		t.Helper()
		var status *apierrors.StatusError
		if !errors.As(err, &status) || !apierrors.IsStoreReadError(err) {
			t.Fatalf("%s: %v", what, err)
		}
		d := status.ErrStatus.Details
		if d.Kind != "configmaps" || d.Name != "/registry/configmaps/" || len(d.Causes) != 1 || d.Causes[0].Field != lost ||
			d.Causes[0].Type != metav1.CauseTypeUnexpectedServerResponse || status.ErrStatus.Code != 500 {
			t.Errorf("%s: %+v", what, status.ErrStatus)
		}
	}
	got, err := s.Get(inNamespace(), rest.GetRequest{Name: "lost"})
	if err == nil {
		_, err = got.(rest.Stored).Wire(corev1.SchemeGroupVersion, wire.JSON)
	}
	unread("get", err)
	list, err := s.list(inNamespace(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = list.Items[1].Decode()
	unread("list", list.ReadError(err))
	_, _, err = s.Delete(inNamespace(), rest.DeleteRequest{Name: "lost"})
	unread("delete", err)
	_, err = s.DeleteCollection(inNamespace(), rest.DeleteCollectionRequest{})
	unread("deletecollection", err)
	if _, err := s.Get(inNamespace(), rest.GetRequest{Name: "a"}); !apierrors.IsNotFound(err) {
		t.Errorf("the deletion of the collection left what can be read: %v", err)
	}
	list.DropUnreadable(request.SkippingUnreadable(t.Context()))
	if len(list.Items) != 1 {
		t.Errorf("%d items are left", len(list.Items))
	}
}

// The error of a list names a hundred objects at most.
func TestManyUnreadable(t *testing.T) {
	s, m := newStore(t, configMapKind())
	for i := range 150 {
		if _, err := m.Create(t.Context(), fmt.Sprintf("/registry/configmaps/ns/lost-%03d", i), []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.list(inNamespace(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = list.Items[149].Decode()
	var status *apierrors.StatusError
	if !errors.As(list.ReadError(err), &status) {
		t.Fatal(err)
	}
	causes := status.ErrStatus.Details.Causes
	if len(causes) != 101 || causes[100].Type != metav1.CauseTypeTooMany || causes[99].Field != "/registry/configmaps/ns/lost-099" {
		t.Errorf("%d causes, the last is %+v", len(causes), causes[len(causes)-1])
	}
}

// Whoever asks for it can delete what cannot be read, and only that without regard to
// finalizers.
func TestDeleteUnread(t *testing.T) {
	k := configMapKind()
	k.Delete.Warnings = func(*metav1.DeleteOptions) []string {
		t.Error("it warns as of a deletion with finalizers and dependents")
		return nil
	}
	s, m := newStore(t, k)
	if _, err := m.Create(t.Context(), lost, []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	held := configMap("held")
	held.Finalizers = []string{"example.com/hold"}
	must[*corev1.ConfigMap](t, create(s, held))
	unread := func() *metav1.DeleteOptions {
		return &metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: ptr.To(true)}
	}
	out, gone, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "lost", Options: unread()})
	if status, ok := out.(*metav1.Status); err != nil || !gone || !ok || status.Details.Name != "lost" {
		t.Errorf("%+v, %v, %v", out, gone, err)
	}
	if _, err := s.Get(inNamespace(), rest.GetRequest{Name: "lost"}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
	_, _, err = s.Delete(inNamespace(), rest.DeleteRequest{Name: "held", Options: unread()})
	wantStatus(t, "an object that can be read", err, 409, `Operation cannot be fulfilled on configmaps "held": StorageError: invalid object, Code: 4, Key: /registry/configmaps/ns/held, ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage`)
	if _, err := s.Get(inNamespace(), rest.GetRequest{Name: "held"}); err != nil {
		t.Error(err)
	}
}
