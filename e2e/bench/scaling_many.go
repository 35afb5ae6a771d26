package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"triplane.dev/e2e/harness"
)

// largeDefinitionsCurve makes CRDs as large as providers' are, which nobody uses, and starts the
// server anew on them.
func largeDefinitionsCurve(p harness.Programs) func(*bench, *curve) error {
	return func(b *bench, c *curve) error {
		sizes := b.sizes(200, 1000, 5000)
		define := func(i int) request {
			return post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", string(largeDefinition(i)))
		}
		if err := b.grow(c, "create", sizes, define, func(_, n int) error {
			last := read("/apis/" + largeGroup + "/v1/" + largePlural(n-1) + "?limit=1")
			if err := b.target.wait(func() error { return b.one(last) }); err != nil {
				return err
			}
			for _, column := range []string{"/openapi/v2", "again"} {
				m, err := b.load(1, func(int) request {
					return request{method: "GET", path: "/openapi/v2", want: http.StatusOK, gzip: true}
				})
				if err != nil {
					return err
				}
				c.add(n, column, fmt.Sprintf("%.0f ms CPU", m.cpuPerOp()))
			}
			b.enterResident(c, n, "resident, unused", 5*time.Second)
			return nil
		}); err != nil {
			return err
		}
		t, n := b.target, sizes[len(sizes)-1]
		if err := t.again(p); err != nil {
			return err
		}
		c.add(n, "exec to ready", fmt.Sprintf("%d ms", t.ready.Milliseconds()))
		time.Sleep(10 * time.Second)
		c.add(n, "start", fmt.Sprintf("%.0f ms CPU", float64(cpuTime(t.pids).Milliseconds())))
		c.add(n, "resident after start", mb(residentBytes(t.pids)))
		return nil
	}
}

// rolesCurve makes 1,000 namespaces with a role each, and up to 20 bindings of a user in each.
func rolesCurve(b *bench, c *curve) error {
	namespaces := b.n(1000)
	named := func(i int) string { return name("n", i%namespaces) }
	for _, next := range []func(i int) request{
		func(i int) request { return namespace(named(i)) },
		func(i int) request { return role(named(i)) },
		func(i int) request {
			return post("/api/v1/namespaces/"+named(i)+"/configmaps", string(configMaps.object("o")))
		},
	} {
		if _, err := b.load(namespaces, next); err != nil {
			return err
		}
	}
	bind := func(i int) request { return binding(named(i), i) }
	return b.grow(c, "create binding", b.sizes(1000, 20_000), bind, func(_, n int) error {
		get := func(i, namespace, want int) request {
			return request{method: "GET", path: "/api/v1/namespaces/" + named(namespace) + "/configmaps/o", want: want,
				user: user(i % n)}
		}
		if err := b.target.wait(func() error { return b.one(get(n-1, n-1, http.StatusOK)) }); err != nil {
			return err
		}
		if err := b.enter(c, n, "get, allowed by a binding", b.n(8000),
			func(i int) request { return get(i, i, http.StatusOK) }); err != nil {
			return err
		}
		if err := b.enter(c, n, "get, denied", b.n(4000),
			func(i int) request { return get(i, i+1, http.StatusForbidden) }); err != nil {
			return err
		}
		b.enterResident(c, n, "resident", 5*time.Second)
		return nil
	})
}

// overwritesCurve writes sixteen config maps of almost 1 MB again and again.
func overwritesCurve(b *bench, c *curve) error {
	const objects = clients
	body := func(i, revision int) []byte {
		text := strings.Repeat(fmt.Sprintf("line %d of %d. ", i, revision), 1<<20/20)
		return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"text":%q}}`, name("big", i), text)
	}
	if _, err := b.load(objects, func(i int) request {
		return post(configMaps.collection, string(body(i, 0)))
	}); err != nil {
		return err
	}
	overwrite := func(i int) request {
		return request{method: "PUT", path: configMaps.collection + "/" + name("big", i%objects),
			contentType: "application/json",
			body:        body(i%objects, i), want: http.StatusOK}
	}
	return b.grow(c, "update", b.sizes(100, 1000, 2000), overwrite, func(_, n int) error {
		b.enterResident(c, n, "resident at once", 0)
		b.enterResident(c, n, "resident after 5 s", 5*time.Second)
		c.add(n, "database", mb(size(filepath.Join(b.target.dir, "etcd", "member", "snap"))))
		return nil
	})
}
