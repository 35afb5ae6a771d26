package storage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/memory"
)

func TestPagesAreOfOneRevisionAndGrow(t *testing.T) {
	ctx := t.Context()
	b := memory.New()
	t.Cleanup(func() { _ = b.Close() })
	var want []string
	for i := range 1000 {
		key := fmt.Sprintf("/a/%04d", i)
		if _, err := b.Create(ctx, key, []byte("v"), 0); err != nil {
			t.Fatal(err)
		}
		want = append(want, key)
	}
	if _, err := b.Create(ctx, "/b/0000", []byte("v"), 0); err != nil {
		t.Fatal(err)
	}
	var got []string
	pages := 0
	for page, err := range storage.Pages(ctx, b, storage.RangeOptions{Prefix: "/a/", Limit: 10}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range page.Items {
			got = append(got, kv.Key)
		}
		if pages++; pages == 1 {
			if _, err := b.Create(ctx, "/a/9999", []byte("v"), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d keys, want %d", len(got), len(want))
	}
	// Of what is left each page has an eighth, at least ten: that is logarithmic in the number of keys.
	if pages > 40 {
		t.Errorf("%d pages of %d keys", pages, len(want))
	}
}

func TestPagesEndWithAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := memory.New()
	t.Cleanup(func() { _ = b.Close() })
	n := 0
	for _, err := range storage.Pages(ctx, failing{b}, storage.RangeOptions{Prefix: "/a/"}) {
		if n++; !errors.Is(err, context.Canceled) || n > 1 {
			t.Fatalf("page %d: %v", n, err)
		}
	}
}

// failing returns the error of the context.
type failing struct{ storage.Backend }

func (failing) Range(ctx context.Context, _ storage.RangeOptions) (storage.RangeResult, error) {
	return storage.RangeResult{}, ctx.Err()
}

func TestPagesOfLargeValuesAreSmall(t *testing.T) {
	ctx := t.Context()
	b := memory.New()
	t.Cleanup(func() { _ = b.Close() })
	value := make([]byte, 1<<20) // all keys share it
	for i := range 200 {
		if _, err := b.Create(ctx, fmt.Sprintf("/a/%04d", i), value, 0); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for page, err := range storage.Pages(ctx, b, storage.RangeOptions{Prefix: "/a/", Limit: 10}) {
		if n += len(page.Items); err != nil || len(page.Items) > 32 {
			t.Fatalf("a page of %d MB, %v", len(page.Items), err)
		}
	}
	if n != 200 {
		t.Errorf("%d keys", n)
	}
}
