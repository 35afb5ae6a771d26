package main

import (
	"fmt"
	"time"
)

// memoryAfterLoad fills a server with pods and twice as many config maps, each
// written three times, reads all of them as clients do when they start, and
// returns the resident memory soon after.
func memoryAfterLoad(t *target) (int64, error) {
	b := newBench(t)
	defer b.loader.close()
	for _, r := range []resource{pods, configMaps} {
		if err := b.setUp(r); err != nil {
			return 0, err
		}
		n := b.n(present)
		if r.name == configMaps.name {
			n *= 2
		}
		if err := b.fill(r, n, 3); err != nil {
			return 0, err
		}
	}
	time.Sleep(5 * time.Second)
	return residentBytes(t.pids), nil
}

// fill creates n objects and changes each until it has so many revisions, then
// lists them once.
func (b *bench) fill(r resource, n, revisions int) error {
	_, err := b.load(n, func(i int) request {
		return request{method: "POST", path: r.collection, contentType: "application/json",
			body: r.object(name("o", i)), want: 201}
	})
	for revision := 2; revision <= revisions && err == nil; revision++ {
		_, err = b.load(n, func(i int) request { return r.merge(i, revision) })
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return b.one(request{method: "GET", path: r.collection, want: 200})
}
