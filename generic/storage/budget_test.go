package storage

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

func encodeTo(n int) func(*Record) ([]byte, error) {
	return func(*Record) ([]byte, error) { return make([]byte, n), nil }
}

func TestBudgetDropsUnusedForms(t *testing.T) {
	const size = 1000
	b := NewBudget(10 * (size + formOverhead))
	hot, cold := &Record{}, &Record{}
	for _, r := range []*Record{cold, hot} {
		if _, err := r.Form(1, b, encodeTo(size)); err != nil {
			t.Fatal(err)
		}
	}
	encoded := 0
	count := func(*Record) ([]byte, error) { encoded++; return make([]byte, size), nil }
	others := make([]*Record, 100)
	for i := range others {
		others[i] = &Record{}
		_, _ = others[i].Form(1, b, encodeTo(size))
		_, _ = hot.Form(1, b, count)
	}
	if encoded != 0 {
		t.Errorf("a form in use was dropped %d times", encoded)
	}
	if _, _ = cold.Form(1, b, count); encoded != 1 {
		t.Error("an unused form was kept")
	}
	used, limit, evicted := b.Usage()
	if used > limit || evicted < 90 {
		t.Errorf("%d of %d bytes used, %d forms dropped", used, limit, evicted)
	}
	runtime.KeepAlive(others)
}

func TestBudgetForgetsDeadRecords(t *testing.T) {
	b := NewBudget(100_000)
	func() {
		for range 50 {
			_, _ = (&Record{}).Form(1, b, encodeTo(1000))
		}
	}()
	runtime.GC()
	runtime.GC()
	live := make([]*Record, 60)
	for i := range live {
		live[i] = &Record{}
		_, _ = live[i].Form(1, b, encodeTo(1000))
	}
	if _, _, evicted := b.Usage(); evicted != 0 {
		t.Errorf("%d forms of live records were dropped for the sake of dead ones", evicted)
	}
}

func TestFormsAreEncodedOnce(t *testing.T) {
	for _, b := range []*Budget{nil, {}, NewBudget(500)} {
		r := &Record{}
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for range 200 {
					id := FormID(i % 3)
					got, err := r.Form(id, b, func(*Record) ([]byte, error) { return []byte{byte(id)}, nil })
					if err != nil || len(got) != 1 || got[0] != byte(id) {
						t.Errorf("form %d is %v, %v", id, got, err)
					}
				}
			})
		}
		wg.Wait()
	}
}

func BenchmarkFormHit(b *testing.B) {
	r, budget := &Record{}, NewBudget(0)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = r.Form(1, budget, encodeTo(10))
	}
}

func BenchmarkFormMiss(b *testing.B) {
	budget := NewBudget(0)
	encode := encodeTo(500)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = (&Record{}).Form(1, budget, encode)
	}
}

// BenchmarkKeptForms finds the forms of many records, which are not in the processor's caches.
func BenchmarkKeptForms(b *testing.B) {
	records := make([]*Record, 50_000)
	for i := range records {
		records[i] = NewRecord("", make([]byte, 500), 0)
		records[i].SeedForm(1, nil, make([]byte, 600))
	}
	rand.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	forms := make([][]byte, 0, len(records))
	b.Run("each", func(b *testing.B) {
		for b.Loop() {
			forms = forms[:0]
			for _, r := range records {
				forms = append(forms, r.KeptForm(1))
				touch(forms[len(forms)-1:])
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(records)), "ns/record")
	})
	b.Run("together", func(b *testing.B) {
		for b.Loop() {
			forms = forms[:0]
			for i := 0; i < len(records); i += 64 {
				forms = KeptForms(forms, records[i:min(i+64, len(records))], 1)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(records)), "ns/record")
	})
}
