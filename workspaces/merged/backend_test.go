package merged

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/generic/storage/wire"
)

var config = Config{Prefix: "/r", Directory: ".ws", Annotation: "from", Existing: func(context.Context, int64) ([]string, error) {
	return []string{"b.2", "a.1"}, nil
}}

// object returns a stored object that says it is from elsewhere.
func object(t *testing.T, name string, form wire.StoredForm) []byte {
	t.Helper()
	m := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"from": "forged", "other": "kept"}}}
	value, err := wire.AppendStored(nil, m.GroupVersionKind(), m, form)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func annotationsOf(t *testing.T, value []byte) string {
	t.Helper()
	var m corev1.ConfigMap
	if err := wire.UnmarshalStored(value, &m); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(m.Annotations)
}

// The keys of workspaces are beside each other, with the workspace of each value, in all forms of storage; the marks of
// deleted defaults and other keys are not there.
func TestView(t *testing.T) {
	below, ctx := memory.New(), t.Context()
	keys := map[string][]byte{
		"/r/.ws/a.1/configmaps/n/x": object(t, "x", wire.StoredProtobuf), "/r/.ws/b.2/configmaps/n/x": object(t, "x", wire.StoredJSON),
		"/r/.ws/b.2/configmaps/n/w": object(t, "w", wire.StoredYAML), "/r/.ws/a.1/configmaps/n/default": []byte("\x00deleted"),
		"/r/.ws/a.1/secrets/n/x": object(t, "x", wire.StoredProtobuf), "/r/configmaps/n/x": object(t, "x", wire.StoredProtobuf),
		"/r/.ws/.existing/a.1": []byte("a"), "/r/.ws/other.3/configmaps/n/x": object(t, "x", wire.StoredProtobuf),
	}
	stream, err := New(config, below).Watch(ctx, "/r/", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for key, value := range keys {
		if _, err := below.Create(ctx, key, value, 0); err != nil {
			t.Fatal(err)
		}
	}
	v := NewView(config, below, nil)
	found, err := v.Range(ctx, storage.RangeOptions{Prefix: "/r/configmaps/"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/r/configmaps/n/w/b.2", "/r/configmaps/n/x/a.1", "/r/configmaps/n/x/b.2"}
	if len(found.Items) != len(want) || found.Count != 3 {
		t.Fatalf("found %v", found)
	}
	for i, kv := range found.Items {
		if from := fmt.Sprintf("map[from:%s other:kept]", workspaceOf(want[i])); kv.Key != want[i] || annotationsOf(t, kv.Value) != from {
			t.Errorf("%s has %s, want %s with %s", kv.Key, annotationsOf(t, kv.Value), want[i], from)
		}
	}
	page, err := v.Range(ctx, storage.RangeOptions{Prefix: "/r/configmaps/n/", After: want[0], Limit: 1})
	if err != nil || len(page.Items) != 1 || page.Items[0].Key != want[1] || !page.More || page.Count != 2 {
		t.Errorf("the second page is %v, %v", page, err)
	}
	if kv, err := v.Get(ctx, want[2]); err != nil || kv.Key != want[2] || annotationsOf(t, kv.Value) != "map[from:b other:kept]" {
		t.Errorf("%v, %v", kv, err)
	}
	if _, err := v.Get(ctx, "/r/configmaps/n/default/a.1"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a deleted default: %v", err)
	}
	seen := map[string]bool{}
	for progress := int64(0); progress < found.Revision; {
		var changes []storage.Change
		if changes, progress, err = stream.Next(ctx); err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if err := v.Decode(&c); err != nil {
				t.Fatal(err)
			}
			seen[c.Key] = !c.Deleted()
		}
	}
	if len(seen) != 6 || !seen[want[0]] || !seen["/r/configmaps/n/x/other.3"] || seen["/r/configmaps/n/default/a.1"] {
		t.Errorf("the watch showed %v", seen)
	}
	if _, err := v.Create(ctx, "/r/configmaps/n/new", nil, 0); err == nil {
		t.Error("a key was created")
	}
}
