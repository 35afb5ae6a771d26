package kindtest

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"triplane.dev/generic/api/kind"
)

func complete[T kind.Object](t *testing.T, declared kind.Kind[T]) kind.Kind[T] {
	t.Helper()
	k, err := declared.Complete(scheme.Scheme)
	if err != nil {
		t.Fatal(err)
	}
	return *k
}

// New makes an object of YAML and completes it as a creation does.
func New[T kind.Object](t *testing.T, declared kind.Kind[T], text string) T {
	t.Helper()
	k := complete(t, declared)
	o := k.New()
	if err := yaml.UnmarshalStrict([]byte(text), o); err != nil {
		t.Fatalf("%s: %v", k.Names.Plural, err)
	}
	if k.Write.Default != nil {
		k.Write.Default(o)
	}
	var none T
	k.Prepare(context.Background(), nil, o, none)
	return o
}

// Update completes obj as an update of old does.
func Update[T kind.Object](t *testing.T, declared kind.Kind[T], obj, old T) {
	t.Helper()
	k := complete(t, declared)
	obj.SetGeneration(old.GetGeneration())
	k.Prepare(context.Background(), nil, obj, old)
}

// Refused validates a new object and compares the errors, in order.
func Refused[T kind.Object](t *testing.T, k kind.Kind[T], text string, want ...string) {
	t.Helper()
	c := complete(t, k)
	var none T
	obj := New(t, k, text)
	compare(t, append(c.ValidateFirst(obj), c.Validate(context.Background(), obj, none)...), want)
}

// UpdateRefused validates the change from one object to another.
func UpdateRefused[T kind.Object](t *testing.T, k kind.Kind[T], before, after string, want ...string) {
	t.Helper()
	old, obj := New(t, k, before), New(t, k, after)
	Update(t, k, obj, old)
	c := complete(t, k)
	compare(t, append(c.ValidateFirst(obj), c.Validate(context.Background(), obj, old)...), want)
}

func compare(t *testing.T, errs field.ErrorList, want []string) {
	t.Helper()
	var got []string
	for _, e := range errs {
		got = append(got, e.Error())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
