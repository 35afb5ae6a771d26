package registry

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

func names(l *rest.StoredList) string {
	var out []string
	for _, it := range l.Items {
		obj, err := it.Decode()
		if err != nil {
			return err.Error()
		}
		out = append(out, obj.(metav1.Object).GetName())
	}
	return strings.Join(out, " ")
}

// What cannot be read as a version is the client's mistake in lists, and in gets of what kube-apiserver
// keeps no cache of; nor can a version that is too large be waited for there.
func TestVersionsWithoutCache(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	must[*corev1.ConfigMap](t, create(s, configMap("a")))
	for uncached, want := range map[bool]string{
		false: `resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax`,
		true:  `invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax`,
	} {
		s.options.Uncached = uncached
		_, err := s.Get(inNamespace(), rest.GetRequest{Name: "a", Options: &metav1.GetOptions{ResourceVersion: "x"}})
		if err == nil || err.Error() != want || apierrors.IsBadRequest(err) != uncached {
			t.Errorf("uncached %t: %v", uncached, err)
		}
		err = s.readError(&storage.TooLargeError{Requested: 9, Current: 1})
		if seconds, _ := apierrors.SuggestsClientDelay(err); !apierrors.IsTimeout(err) || (seconds == 0) != uncached {
			t.Errorf("uncached %t: %v after %d s", uncached, err, seconds)
		}
	}
}

// Lists of any version are whole, but where the watch cache is said to be off.
func TestPagesOfAnyVersion(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	for _, n := range []string{"a", "b", "c"} {
		must[*corev1.ConfigMap](t, create(s, configMap(n)))
	}
	anyAfterA := base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":-1,"start":"/a\u0000"}`))
	for _, tt := range []struct {
		pages          bool
		version, token string
		want           string
		more           bool
	}{
		{false, "0", "", "a b c", false},
		{true, "0", "", "a", true},
		{false, "00", "", "a", true}, // only "0" is any version, although the number is the same
		{false, "0", anyAfterA, "b c", false},
		{true, "0", anyAfterA, "b", true},
		{false, "", anyAfterA, "b", true},
	} {
		s.options.Uncached = tt.pages
		l, err := s.list(inNamespace(), &metainternalversion.ListOptions{Limit: 1, ResourceVersion: tt.version, Continue: tt.token})
		if err != nil || names(l) != tt.want || (l.Continue != "") != tt.more {
			t.Errorf("%+v: %s, %q, %v", tt, names(l), l.Continue, err)
		}
	}
}

// A list keeps forms in half of the budget, and is the same where it does not.
func TestLargeListsAreKeptInPart(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	const n = 20
	for i := range n {
		must[*corev1.ConfigMap](t, create(s, configMap(fmt.Sprintf("o%02d", i))))
	}
	list, err := s.list(inNamespace(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	var want [][]byte
	records := make([]*storage.Record, n)
	for i, item := range list.Items {
		b, err := item.Wire(v1, wire.JSON)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, b)
		records[i] = recordOf(item)
		size += int64(len(records[i].Value()))
	}
	for limit, kept := range map[int64]int{size: n / 2, 2 * size: n, 100 * size: n} {
		for _, r := range records {
			r.ReleaseForms()
		}
		s.options.Budget = storage.NewBudget(limit)
		if list, err = s.list(inNamespace(), nil); err != nil {
			t.Fatal(err)
		}
		s.options.Budget = nil // evicts nothing
		found := 0
		for i, item := range list.Items {
			got, err := item.AppendWire([]byte("x"), v1, wire.JSON)
			if err != nil || string(got) != "x"+string(want[i]) {
				t.Errorf("%s, %v, want %s", got, err, want[i])
			}
			if recordOf(item).KeptForm(formID(0, wire.JSON)) != nil {
				found++
			}
		}
		if found != kept {
			t.Errorf("%d of %d forms are kept within a budget of %d, want %d", found, n, limit, kept)
		}
	}
}

func recordOf(item rest.Stored) *storage.Record { return item.(*stored[*corev1.ConfigMap]).record }

func TestListPages(t *testing.T) {
	s, m := newStore(t, configMapKind())
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		must[*corev1.ConfigMap](t, create(s, configMap(n)))
	}
	list := func(o metainternalversion.ListOptions) *rest.StoredList {
		t.Helper()
		l, err := s.list(inNamespace(), &o)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := list(metainternalversion.ListOptions{Limit: 2})
	if names(first) != "a b" || *first.RemainingItemCount != 3 || first.ResourceVersion != "105" {
		t.Fatalf("%s, %+v", names(first), first)
	}
	token, _ := base64.RawURLEncoding.DecodeString(first.Continue)
	if string(token) != `{"v":"meta.k8s.io/v1","rv":105,"start":"/b\u0000"}` {
		t.Errorf("token %s", token)
	}
	must[*corev1.ConfigMap](t, create(s, configMap("bb")))
	if _, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "c"}); err != nil {
		t.Fatal(err)
	}
	second := list(metainternalversion.ListOptions{Limit: 2, Continue: first.Continue})
	if names(second) != "c d" || second.ResourceVersion != "105" {
		t.Errorf("second page %s at %s", names(second), second.ResourceVersion)
	}
	if last := list(metainternalversion.ListOptions{Limit: 2, Continue: second.Continue}); names(last) != "e" || last.Continue != "" || last.RemainingItemCount != nil {
		t.Errorf("last page %s, %+v", names(last), last)
	}
	// After compaction, the answer says how to go on.
	if err := m.Compact(context.Background(), 107); err != nil {
		t.Fatal(err)
	}
	_, err := s.list(inNamespace(), &metainternalversion.ListOptions{Limit: 2, Continue: first.Continue})
	var status *apierrors.StatusError
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) || status.ErrStatus.Code != 410 || status.ErrStatus.Continue == "" {
		t.Fatalf("after compaction: %v", err)
	}
	if token, _ = base64.RawURLEncoding.DecodeString(status.ErrStatus.Continue); string(token) != `{"v":"meta.k8s.io/v1","rv":-1,"start":"b\u0000"}` {
		t.Errorf("token %s", token)
	}
	if rest := list(metainternalversion.ListOptions{Limit: 2, Continue: status.ErrStatus.Continue}); names(rest) != "bb d" || rest.ResourceVersion != "107" {
		t.Errorf("inconsistent rest %s at %s", names(rest), rest.ResourceVersion)
	}
	if _, err := s.list(inNamespace(), &metainternalversion.ListOptions{ResourceVersion: "101", ResourceVersionMatch: metav1.ResourceVersionMatchExact}); !apierrors.IsResourceExpired(err) {
		t.Errorf("exact before compaction: %v", err)
	}
}

func TestListFreshness(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	tests := []struct {
		version string
		match   metav1.ResourceVersionMatch
		limit   int64
		want    storage.Freshness
		wantLim int64
	}{
		{"", "", 0, storage.Freshness{Match: storage.Consistent}, 0},
		{"", "", 3, storage.Freshness{Match: storage.Consistent}, 3},
		{"", "", -1, storage.Freshness{Match: storage.Consistent}, 0},
		{"0", "", 3, storage.Freshness{Match: storage.Any}, 0},
		{"0", metav1.ResourceVersionMatchNotOlderThan, 0, storage.Freshness{Match: storage.Any}, 0},
		{"7", "", 0, storage.Freshness{Match: storage.NotOlderThan, Revision: 7}, 0},
		{"7", "", 3, storage.Freshness{Match: storage.Exact, Revision: 7}, 3},
		{"7", metav1.ResourceVersionMatchNotOlderThan, 3, storage.Freshness{Match: storage.NotOlderThan, Revision: 7}, 3},
		{"7", metav1.ResourceVersionMatchExact, 0, storage.Freshness{Match: storage.Exact, Revision: 7}, 0},
		{"18446744073709551615", "", 0, storage.Freshness{Match: storage.NotOlderThan, Revision: 1<<63 - 1}, 0},
	}
	for _, tt := range tests {
		o, err := s.listOptions(inNamespace(), &metainternalversion.ListOptions{ResourceVersion: tt.version, ResourceVersionMatch: tt.match, Limit: tt.limit})
		if err != nil || o.Freshness != tt.want || o.Limit != tt.wantLim || o.Prefix != "/registry/configmaps/ns/" {
			t.Errorf("%+v: %+v, %v", tt, o, err)
		}
	}
	_, err := s.List(inNamespace(), &metainternalversion.ListOptions{ResourceVersion: "abc"})
	wantStatus(t, "abc", err, 400, `invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`)
	for _, get := range []func() error{
		func() error {
			_, err := s.List(inNamespace(), &metainternalversion.ListOptions{ResourceVersion: "999"})
			return err
		},
		func() error {
			_, err := s.Get(inNamespace(), rest.GetRequest{Name: "a", Options: &metav1.GetOptions{ResourceVersion: "999"}})
			return err
		},
	} {
		err := get()
		var status *apierrors.StatusError
		wantStatus(t, "too large", err, 504, "Timeout: Too large resource version: 999, current: 100")
		if errors.As(err, &status) && (status.ErrStatus.Details.RetryAfterSeconds != 1 || !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)) {
			t.Errorf("details %+v", status.ErrStatus.Details)
		}
	}
}

func TestFieldSelectors(t *testing.T) {
	maps, _ := newStore(t, configMapKind())
	pods, _ := newStore(t, podKind())
	namespaces, _ := newStore(t, namespaceKind())
	tests := []struct {
		selection func(string) (string, error)
		selector  string
		key, err  string
	}{
		{selecting(maps), "metadata.name=a", "/registry/configmaps/ns/a", ""},
		{selecting(maps), "metadata.name!=a", "", ""},
		{selecting(maps), "metadata.name=..", "", ""},
		{selecting(maps), "foo=bar", "", `"foo" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{selecting(pods), "spec.nodeName=n", "", ""},
		{selecting(pods), "foo=bar", "", "field label not supported: foo"},
		{selecting(namespaces), "metadata.namespace=x", "", ""},
	}
	for _, tt := range tests {
		key, err := tt.selection(tt.selector)
		if key != tt.key || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: %q, %v", tt.selector, key, err)
		}
	}
}

func selecting[T kind.Object](s *Store[T]) func(string) (string, error) {
	return func(selector string) (string, error) {
		converted, err := fields.ParseSelectorOrDie(selector).Transform(func(label, value string) (string, string, error) {
			return s.kind.FieldLabel(s.kind.Hub.GroupVersion(), label, value)
		})
		if err != nil {
			return "", err
		}
		key, _, _ := s.selection(inNamespace(), &metainternalversion.ListOptions{FieldSelector: converted})
		return key, nil
	}
}

func TestListSelects(t *testing.T) {
	s, _ := newStore(t, podKind())
	for _, n := range []string{"a", "b"} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: n, Labels: map[string]string{"l": n}}, Spec: corev1.PodSpec{NodeName: "node-" + n}}
		must[*corev1.Pod](t, create(s, p))
	}
	for want, o := range map[string]metainternalversion.ListOptions{
		"a b": {LabelSelector: labels.Everything(), FieldSelector: fields.Everything()},
		"a":   {LabelSelector: labels.SelectorFromSet(labels.Set{"l": "a"})},
		"b":   {FieldSelector: fields.ParseSelectorOrDie("spec.nodeName=node-b")},
		"":    {FieldSelector: fields.ParseSelectorOrDie("metadata.name=..")},
	} {
		for _, ctx := range []context.Context{inNamespace(), request.WithNamespace(context.Background(), "")} {
			if l, err := s.list(ctx, &o); err != nil || names(l) != want {
				t.Errorf("%+v: %s, %v", o, names(l), err)
			}
		}
	}
}

func TestWatch(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	must[*corev1.ConfigMap](t, create(s, configMap("a")))
	ctx, cancel := context.WithTimeout(inNamespace(), 10*time.Second)
	defer cancel()
	stream, err := s.Watch(ctx, &metainternalversion.ListOptions{SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	events, err := stream.Next(ctx)
	if err != nil || len(events) != 2 || events[0].Type != watch.Added || events[1].Type != watch.Bookmark {
		t.Fatalf("%+v, %v", events, err)
	}
	end := events[1].Object.(*corev1.ConfigMap)
	if end.Annotations[metav1.InitialEventsAnnotationKey] != "true" || end.ResourceVersion != "101" || end.Kind != "ConfigMap" {
		t.Errorf("bookmark %+v", end)
	}
	if _, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	events, err = stream.Next(ctx)
	if err != nil || len(events) != 1 || events[0].Type != watch.Deleted || events[0].Object.(rest.Stored).ResourceVersion() != "102" {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestWatchOptions(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	for _, tt := range []struct {
		version string
		initial *bool
		want    storage.WatchOptions
	}{
		{"", nil, storage.WatchOptions{}},
		{"0", nil, storage.WatchOptions{Freshness: storage.Freshness{Match: storage.Any}}},
		{"7", nil, storage.WatchOptions{Revision: 7, Freshness: storage.Freshness{Match: storage.NotOlderThan, Revision: 7}}},
		{"7", ptr.To(true), storage.WatchOptions{Initial: true, Freshness: storage.Freshness{Match: storage.NotOlderThan, Revision: 7}}},
		{"7", ptr.To(false), storage.WatchOptions{Revision: 7, Freshness: storage.Freshness{Match: storage.NotOlderThan, Revision: 7}}},
		{"", ptr.To(false), storage.WatchOptions{Revision: 100}},
	} {
		o, err := s.watchOptions(inNamespace(), &metainternalversion.ListOptions{ResourceVersion: tt.version, SendInitialEvents: tt.initial})
		tt.want.Prefix = "/registry/configmaps/ns/"
		if err != nil || !reflect.DeepEqual(o, tt.want) {
			t.Errorf("%q %v: %+v, %v", tt.version, tt.initial, o, err)
		}
	}
	want := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(inNamespace(), want)
	defer cancel()
	if o, err := s.watchOptions(ctx, &metainternalversion.ListOptions{TimeoutSeconds: ptr.To(int64(math.MaxInt64))}); err != nil || !o.Deadline.Equal(want) {
		t.Errorf("the watch ends at %v, %v", o.Deadline, err)
	}
	if err := s.watchError(storage.ErrTooSlow); !errors.Is(err, io.EOF) {
		t.Errorf("too slow: %v", err)
	}
	err := s.watchError(&storage.TooOldError{Requested: 5, Oldest: 9})
	wantStatus(t, "too old", err, 410, "too old resource version: 5 (9)")
}

func TestDefaultTable(t *testing.T) {
	s, _ := newStore(t, configMapKind())
	must[*corev1.ConfigMap](t, create(s, configMap("a")))
	l, err := s.List(inNamespace(), nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := s.ConvertToTable(inNamespace(), l, nil)
	if err != nil || len(table.Rows) != 1 || len(table.ColumnDefinitions) != 2 || table.ResourceVersion != "101" {
		t.Fatalf("%+v, %v", table, err)
	}
	if c := table.Rows[0].Cells; c[0] != "a" || !strings.HasSuffix(c[1].(string), "Z") {
		t.Errorf("cells %v", c)
	}
	if _, ok := table.Rows[0].Object.Object.(*corev1.ConfigMap); !ok {
		t.Errorf("row of %T", table.Rows[0].Object.Object)
	}
	if none, err := s.ConvertToTable(inNamespace(), l, &metav1.TableOptions{NoHeaders: true}); err != nil || none.ColumnDefinitions != nil {
		t.Errorf("%+v, %v", none, err)
	}
}
