package wire

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A row is equal to the output of the encoder of whole tables.
func TestRowIsAsTheEncoderWritesIt(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	created := metav1.NewTime(now.Add(-90 * time.Second))
	restarted := metav1.NewTime(now.Add(-3 * time.Hour))
	meta := metav1.ObjectMeta{Name: "a<b>", Labels: map[string]string{"k": "v&w"}, CreationTimestamp: created}
	conditions := []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: "Done"}}
	tests := []struct {
		name       string
		cells      func(since func(metav1.Time) string) []any
		want       []any
		conditions []metav1.TableRowCondition
	}{
		{"ages", func(since func(metav1.Time) string) []any {
			return []any{"a<b>", int64(3), "2 (" + since(restarted) + " ago)", since(created), true, nil}
		}, []any{"a<b>", int64(3), "2 (3h ago)", "90s", true, nil}, nil},
		{"no age", func(func(metav1.Time) string) []any { return []any{"x", "ünïcode\n\"q\""} }, []any{"x", "ünïcode\n\"q\""}, conditions},
		{"unknown age", func(since func(metav1.Time) string) []any { return []any{since(metav1.Time{})} }, []any{"<unknown>"}, nil},
		{"age to come", func(since func(metav1.Time) string) []any { return []any{since(metav1.NewTime(now.Add(time.Hour)))} }, []any{"<invalid>"}, nil},
		{"texts like marks", func(since func(metav1.Time) string) []any {
			return []any{"\x007\x00", "\x00", "\x000", "a\x00\x00b", since(created)}
		}, []any{"\x007\x00", "\x00", "\x000", "a\x00\x00b", "90s"}, nil},
		{"many", func(since func(metav1.Time) string) []any {
			cells := []any{}
			for range maxAges {
				cells = append(cells, since(created))
			}
			return cells
		}, []any{"90s", "90s", "90s", "90s", "90s", "90s", "90s", "90s", "90s", "90s"}, nil},
	}
	writers := map[string]*RowWriter{"v1": NewRowWriter("v1", now), "": NewRowWriter("", now)} // one for all rows
	for _, tt := range tests {
		var ages Ages
		row, err := EncodeRow(tt.cells(ages.Since), tt.conditions, meta, &ages)
		if err != nil {
			t.Fatal(err)
		}
		partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}, ObjectMeta: meta}
		for version, object := range map[string]runtime.RawExtension{"v1": {Object: partial}, "": {}} {
			want, err := json.Marshal(metav1.TableRow{Cells: tt.want, Conditions: tt.conditions, Object: object})
			if err != nil {
				t.Fatal(err)
			}
			if got := writers[version].Append(nil, row); string(got) != string(want) {
				t.Errorf("%s, %q:\n%s\nwant\n%s", tt.name, version, got, want)
			}
		}
	}
}

func BenchmarkRowAppend(b *testing.B) {
	var ages Ages
	created := metav1.NewTime(time.Now().Add(-time.Hour))
	row, err := EncodeRow([]any{"pod", "1/1", "Running", "0", ages.Since(created)}, nil, metav1.ObjectMeta{Name: "pod", CreationTimestamp: created}, &ages)
	if err != nil {
		b.Fatal(err)
	}
	w := NewRowWriter("v1", time.Now())
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = w.Append(buf[:0], row)
	}
}
