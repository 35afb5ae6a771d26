package quantity

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// long has one digit too many.
var long = strings.Repeat("1", maxDigits+1)

// Numbers with too many digits are found anywhere.
func TestIsTooLong(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "e": false, "1e": false, "1E": false, "1e3": false, "1e999": false, "1e-999": false, "1e0000000999": false, "1Ei": false,
		"sha256:1e9a": false, "deadbeef1234": false, "e99999": false, "xe99999": false,
		"1e1000": true, "1E+1000": true, ".1e-1000": true, "1.e1000": true, "1e00001000": true, "1e3 2e4 3e99999": true, `{"cpu":"1e-999999999"}`: true,
		long: true, "0." + long: true, long + "Ki": true, long[1:]: false, long[1:] + "." + long[1:]: false, "1e" + strings.Repeat("0", 2000): false,
	} {
		if got := IsTooLong(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
		if got := IsTooLong([]byte(text)); got != want {
			t.Errorf("bytes of %s: %v", text, got)
		}
	}
}

// A document is rejected for a quantity, not for other texts of the same form. A duplicate quantity is parsed
// twice.
func TestCheck(t *testing.T) {
	for doc, want := range map[string]bool{
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e999999999"}}}]}}`:                                                 true,
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":1e-999999999}}}]}}`:                                                  true,
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":" -1.5E+99999 ","memory":"1e88888"}}}]}}`:                            true,
		`{"spec":{"containers":[{"resources":{"limits":{"a":"1e99999","b":"1"}}}]}}`:                                               true,
		`{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"0.` + long + `"}}]}}`:                                                       true,
		`{"spec":{"volumes":[{"emptyDir":{"sizeLimit":` + long + `}}]}}`:                                                           true,
		`{"metadata":{"annotations":{"a":"` + long + `"}},"spec":{"volumes":[{"emptyDir":{"sizeLimit":"1"}}]}}`:                    false,
		`{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"1e99999"}}]}}`:                                                              true,
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e3"}}}]}}`:                                                         false,
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e99999","cpu":"1"}}}]}}`:                                           true,
		`{"spec":{"containers":[{"resources":{"limits":{"cpu":1e99999,"cpu":"1"}}}]}}`:                                             true,
		`{"metadata":{"annotations":{"a\\\"1e99999":"\\\\","b":"1e99999"}},"spec":{"volumes":[{"emptyDir":{"sizeLimit":"3e3"}}]}}`: false,
		`{"spec":{"priority":1e99999,"volumes":[{"emptyDir":{"sizeLimit":"3e3"}}]}}`:                                               false, // not a quantity
		`{"metadata":{"name":"1e99999","labels":{"a":"1e99999"}},"spec":{"containers":[{"image":"i:1e99999"}]}}`:                   false,
	} {
		if err := Check([]byte(doc), reflect.TypeFor[*corev1.Pod]()); errors.Is(err, ErrTooLong) != want {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

// Numbers are found in all forms and contexts.
func TestCheckFindsNumbers(t *testing.T) {
	type amounts struct {
		A []resource.Quantity `json:"a"`
	}
	for _, number := range []string{"1e99999", "-1.5E+99999", "1.0e-00001000", "0e99999", long, "-0." + long, long + "." + long} {
		for _, text := range []string{number, `"` + number + `"`, `" ` + number + `Ki"`} {
			for doc, want := range map[string]bool{
				`{"a":[1,` + text + `]}`: true, `{"a":[` + text + `],"a":null}`: true, `{"\u0061":[` + text + `]}`: true,
				`{"b":` + strings.Repeat("[", 100_000) + text + strings.Repeat("]", 100_000) + `,"a":["x"]}`: false, `{"a":{"a":` + text + `}}`: false, `[` + text + `]`: false,
			} {
				if err := Check([]byte(doc), reflect.TypeFor[amounts]()); errors.Is(err, ErrTooLong) != want {
					t.Errorf("%.60s: %v", doc, err)
				}
			}
		}
	}
	for _, doc := range []string{`{"a":["1e99999"`, `{"a":[` + long, `{]"1e99999"`, `1e99999 x`} { // not JSON
		_ = Check([]byte(doc), reflect.TypeFor[amounts]())
	}
}

// Errors before a quantity, or similar texts, do not hide it.
func TestCheckBehindErrors(t *testing.T) {
	const limits = `"spec":{"containers":[{"resources":{"limits":{"cpu":"1e99999"}}}]}}`
	for _, before := range []string{
		`{"metadata":{"name":"\u1e12345"},`,
		`{"metadata":{"creationTimestamp":"2026-01-01T00:00:00.` + long + `Z"},`,
		`{"metadata":{"generation":1e99999},`,
		`{"metadata":[],"spec":"a","status":{"podIPs":{"ip":1}},`,
	} {
		if err := Check([]byte(before+limits), reflect.TypeFor[*corev1.Pod]()); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v", before, err)
		}
	}
}

func TestParse(t *testing.T) {
	if q, err := Parse("1e3"); err != nil || q.Value() != 1000 {
		t.Errorf("1e3: %v, %v", q, err)
	}
	if _, err := Parse("1e-999999999"); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
}

func TestInTree(t *testing.T) {
	if !InTree(map[string]any{"a": []any{int64(1), map[string]any{"b": "1e99999"}}}) || InTree(map[string]any{"1e99999": []any{"a", nil, 1.5}}) {
		t.Error("only strings that are values count")
	}
}

// Documents are decoded to find quantities only if a text may be one.
func TestMayHold(t *testing.T) {
	for doc, want := range map[string]bool{
		`{"uid":"5e123456-71a7-46c8-a8eb-ad71430a2a99"}`: false, `{"a":"1e99999b"}`: false, `{"image":"a1e99999"}`: false,
		`{"a":"1e99999"}`: true, `{"a":1e99999}`: true, `{"a":"1e99999","b":"` + long + `x"}`: true, `{"a":"` + long + `x","b":"1e99999"}`: true,
		`{"a":"\u0031e99999"}`: true, `{"a":"-1E-99999Ki"}`: true, "1e99999": true, `["1e99999b",1e99999]`: true, `{"a":"1e99999a1e99999"}`: false,
	} {
		if got := mayHold([]byte(doc)); got != want {
			t.Errorf("%.60s: %v", doc, got)
		}
	}
}
