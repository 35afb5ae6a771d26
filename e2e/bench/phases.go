package main

import (
	"encoding/json"
	"fmt"
)

// phase is a row of the results.
type phase struct {
	name    string
	applies func(resource) bool // nil: to all
	run     func(b *bench, r resource) (measured, error)
}

const (
	table       = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	memoryPhase = "memory after load"
	// present is how many objects create makes, and all later phases find.
	present = 3000
	crowd   = 200
)

// phases in the order in which they run: each finds the objects that those
// before left.
func phases() []phase {
	return []phase{
		{"create", nil, create},
		{"get, consistent", nil, get("")},
		{"get, resourceVersion=0", nil, get("?resourceVersion=0")},
		{"update", nil, update},
		{"merge patch", nil, mergePatch},
		{"server-side apply (create)", nil, applyCreate},
		{"delete", func(r resource) bool { return !r.crowded }, remove},
		{"delete, beside 200 CRDs", func(r resource) bool { return r.crowded }, removeBesideCRDs},
		{"list, JSON", nil, list("", "application/json")},
		{"list, resourceVersion=0", nil, list("?resourceVersion=0", "application/json")},
		{"list, protobuf", func(r resource) bool { return r.protobuf },
			list("", "application/vnd.kubernetes.protobuf")},
		{"page of 500", nil, list("?limit=500", "application/json")},
		{"list as Table", nil, list("", table)},
		{"event to each of 100 watchers", nil, fanOut(100, 300)},
		{"event to each of 1000 watchers", nil, fanOut(1000, 50)},
	}
}

func name(prefix string, i int) string { return fmt.Sprintf("%s%06d", prefix, i) }

func create(b *bench, r resource) (measured, error) {
	return b.load(b.n(present), func(i int) request {
		return request{method: "POST", path: r.collection, contentType: "application/json",
			body: r.object(name("o", i)), want: 201}
	})
}

func get(query string) func(*bench, resource) (measured, error) {
	return func(b *bench, r resource) (measured, error) {
		return b.load(b.n(8000), func(i int) request {
			return request{method: "GET", path: r.path(i%b.n(present)) + query, want: 200}
		})
	}
}

// update replaces objects, which are read beforehand: some kinds demand the
// resourceVersion.
func update(b *bench, r resource) (measured, error) {
	var objects map[string]map[string]any
	bodies, reads := make([][]byte, b.n(present)), 0
	err := b.target.wait(func() (err error) {
		if objects, err = b.objects(r, "o"); err == nil && len(objects) < len(bodies) {
			err = fmt.Errorf("a list has %d of %d objects", len(objects), len(bodies))
		}
		reads++
		return err
	})
	if err != nil {
		return measured{}, err
	}
	if reads > 1 {
		progress("  the first %d consistent lists lacked objects that had been created before", reads-1)
	}
	for i := range bodies {
		o := objects[name("o", i)]
		meta, ok := o["metadata"].(map[string]any)
		if !ok {
			return measured{}, fmt.Errorf("there is no %s", name("o", i))
		}
		meta["labels"] = map[string]any{"app": "bench", "tier": fmt.Sprintf("back-%d", i)}
		if bodies[i], err = json.Marshal(o); err != nil {
			return measured{}, err
		}
	}
	return b.load(len(bodies), func(i int) request {
		return request{method: "PUT", path: r.path(i), contentType: "application/json", body: bodies[i], want: 200}
	})
}

func mergePatch(b *bench, r resource) (measured, error) {
	return b.load(b.n(present), func(i int) request { return r.merge(i, i) })
}

func applyCreate(b *bench, r resource) (measured, error) {
	return b.load(b.n(present/2), func(i int) request {
		return request{
			method: "PATCH", path: r.collection + "/" + name("s", i) + "?fieldManager=bench",
			contentType: "application/apply-patch+yaml", body: r.object(name("s", i)), want: 201,
		}
	})
}

// remove deletes what applyCreate made.
func remove(b *bench, r resource) (measured, error) {
	return b.load(b.n(present/2), func(i int) request {
		return request{method: "DELETE", path: r.collection + "/" + name("s", i), want: 200}
	})
}

// removeBesideCRDs deletes while there are many other kinds.
func removeBesideCRDs(b *bench, r resource) (measured, error) {
	_, err := b.load(crowd, func(i int) request {
		d := definition(fmt.Sprintf("crowd%d", i), "crowd.example.com")
		return request{method: "POST", path: d.path, contentType: "application/json", body: []byte(d.body), want: 201}
	})
	if err != nil {
		return measured{}, err
	}
	err = b.target.wait(func() error {
		return b.one(request{method: "GET", path: fmt.Sprintf("/apis/crowd.example.com/v1alpha1/crowd%ds", crowd-1),
			want: 200})
	})
	if err != nil {
		return measured{}, err
	}
	if !wanted("server-side apply (create)") {
		if _, err := applyCreate(b, r); err != nil {
			return measured{}, err
		}
	}
	return remove(b, r)
}

func list(query, accept string) func(*bench, resource) (measured, error) {
	return func(b *bench, r resource) (measured, error) {
		return b.load(64, func(int) request {
			return request{method: "GET", path: r.collection + query, accept: accept, want: 200}
		})
	}
}
