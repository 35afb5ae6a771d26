package triplane

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Package testserver has more tests of it, with both storages.
func TestRestore(t *testing.T) {
	s := startServer(t, t.TempDir())
	ctx, maps := t.Context(), client(t, s).CoreV1().ConfigMaps("default")
	create := func(name string) {
		t.Helper()
		if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("before")
	c, err := s.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	create("after")
	if err := maps.Delete(ctx, "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(ctx, c); err != nil {
		t.Fatal(err)
	}
	cached := metav1.GetOptions{ResourceVersion: "0"}
	if _, err := maps.Get(ctx, "before", cached); err != nil {
		t.Errorf("what was there: %v", err)
	}
	if _, err := maps.Get(ctx, "after", cached); !apierrors.IsNotFound(err) {
		t.Errorf("what was not: %v", err)
	}
}

func TestUserConfig(t *testing.T) {
	s := startServer(t, t.TempDir())
	config, err := s.UserConfig("jane", "devs")
	if err != nil {
		t.Fatal(err)
	}
	review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || review.Status.UserInfo.Username != "jane" || review.Status.UserInfo.Groups[0] != "devs" {
		t.Errorf("%v, %v", review, err)
	}
}
