package main

import (
	"net/http"
	"time"

	"triplane.dev/e2e/harness"
)

// restartedName is the server that has just started on what another one stored.
const restartedName = "Triplane, embedded etcd, started anew"

const (
	firstList     = "first list, JSON"
	firstSelected = "first list with a label selector"
	nextSelected  = "list with a label selector"
	// selected matches ten pods.
	selected = "?labelSelector=tier%3Dselected"
)

// restarted is the rows of the first lists: those of a server that has read nothing yet.
func restarted(p harness.Programs) kind {
	return kind{restartedName, func(res *results, server string) error {
		if !wanted(firstList) && !wanted(firstSelected) {
			return nil
		}
		return withTarget(func(dir string) (*target, error) { return startTriplane(p, dir) }, func(t *target) error {
			if err := storePods(t); err != nil {
				return err
			}
			for _, first := range [][]struct{ phase, query string }{
				{{firstList, ""}},
				{{firstSelected, selected}, {nextSelected, selected}},
			} {
				if err := t.again(p); err != nil {
					return err
				}
				time.Sleep(6 * time.Second) // until it has given back what its start took
				for i, row := range first {
					m, err := readPods(t, row.query, 1+63*i)
					if err != nil {
						return err
					}
					res.add(pods.name, row.phase, server, m)
				}
			}
			return nil
		})
	}}
}

// again ends the server and starts it anew on what it stored.
func (t *target) again(p harness.Programs) error {
	return t.betweenStarts(p, func() error { return nil })
}

// betweenStarts is again that calls f while there is no server.
func (t *target) betweenStarts(p harness.Programs, f func() error) error {
	last := len(t.stop) - 1
	if *profiles != "" {
		t.stop[last]()
		last--
	}
	t.stop[last]()
	dir, store, flags := t.dir, t.store, t.flags
	*t = target{database: t.database, pids: t.pids[:len(t.pids)-1], stop: t.stop[:last]}
	if err := f(); err != nil {
		return err
	}
	return t.triplane(p, dir, store, true, flags...)
}

func storePods(t *target) error {
	b := newBench(t)
	defer b.loader.close()
	if err := b.setUp(pods); err != nil {
		return err
	}
	if _, err := create(b, pods); err != nil {
		return err
	}
	for i := range 10 {
		if err := b.one(request{method: "PATCH", path: pods.path(i), contentType: "application/merge-patch+json",
			body: []byte(`{"metadata":{"labels":{"tier":"selected"}}}`), want: http.StatusOK}); err != nil {
			return err
		}
	}
	return nil
}

// readPods lists pods n times, one after the other.
func readPods(t *target, query string, n int) (measured, error) {
	b := newBench(t)
	defer b.loader.close()
	if err := b.one(request{method: "GET", path: "/livez", want: http.StatusOK}); err != nil { // which connects
		return measured{}, err
	}
	return b.alternate(n, func() error {
		return b.one(request{method: "GET", path: pods.collection + query, want: http.StatusOK})
	})
}
