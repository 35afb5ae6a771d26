package oracle

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
)

// What follows must be true of every store.

// ReadsAreConsistent writes through one replica what it reads through the other.
func ReadsAreConsistent(t testing.TB, one, other kubernetes.Interface) {
	t.Helper()
	for i := range 5 {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("r%d", i)}}
		made, err := one.CoreV1().ConfigMaps("default").Create(t.Context(), c, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := other.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{LabelSelector: "!none"})
		if err != nil {
			t.Fatal(err)
		}
		if versionOf(t, list.ResourceVersion) < versionOf(t, made.ResourceVersion) {
			t.Errorf("a list at %s does not have the write at %s", list.ResourceVersion, made.ResourceVersion)
		}
		made.Data = map[string]string{"a": "b"}
		if _, err := other.CoreV1().ConfigMaps("default").Update(t.Context(), made,
			metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := one.CoreV1().ConfigMaps("default").Update(t.Context(), made,
			metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("an update from an old object: %v", err)
		}
	}
}

// PagesAreWhole lists in pages.
func PagesAreWhole(t testing.TB, client kubernetes.Interface) {
	t.Helper()
	harness.CreateConfigMaps(t, client, 0, 40)
	seen, opts := map[string]int{}, metav1.ListOptions{Limit: 7}
	for {
		list, err := client.CoreV1().ConfigMaps("default").List(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list.Items {
			seen[c.Name]++
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			break
		}
	}
	for i := range 40 {
		if n := seen[fmt.Sprintf("c%d", i)]; n != 1 {
			t.Errorf("c%d is %d times in the pages", i, n)
		}
	}
}

// EventsExpire expects that an event is deleted after the --event-ttl of seconds.
func EventsExpire(t testing.TB, client kubernetes.Interface) {
	t.Helper()
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"},
		InvolvedObject: corev1.ObjectReference{Namespace: "default"}}
	if _, err := client.CoreV1().Events("default").Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Gone(t, func() error {
		_, err := client.CoreV1().Events("default").Get(t.Context(), "e", metav1.GetOptions{})
		return err
	})
}

// OldRevisionsAreGone lists at a revision that the store has dropped.
func OldRevisionsAreGone(t testing.TB, client kubernetes.Interface) {
	t.Helper()
	harness.Eventually(t, func() error {
		_, err := client.CoreV1().Secrets("").List(t.Context(),
			metav1.ListOptions{ResourceVersion: "5", ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		if !apierrors.IsResourceExpired(err) {
			return fmt.Errorf("a list at an old revision: %w", err)
		}
		return nil
	})
}

func versionOf(t testing.TB, version string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
