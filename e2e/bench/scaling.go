package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"triplane/e2e/harness"
)

// scaling measures how memory and time grow with what there is much of. Each
// curve has a server of its own.
func scaling(res *results, p harness.Programs) error {
	start := func(dir string) (*target, error) { return startTriplane(p, dir) }
	for _, c := range []struct {
		name string
		run  func(res *results, t *target, c *curve) error
	}{
		{"objects", objectsCurve(p)},
		{"watchers", watchersCurve},
		{"namespaces", namespacesCurve},
		{"role bindings", bindingsCurve},
		{"custom resource definitions", definitionsCurve},
		{"custom resource definitions of 47 KB", largeDefinitionsCurve(p)},
		{"bindings in 1,000 namespaces", rolesCurve},
		{"overwritten objects of 1 MB", overwritesCurve},
		{"replicas on three etcd members", replicasCurve(p)},
	} {
		if !wanted(c.name) {
			continue
		}
		curve := res.curve(c.name)
		err := withTarget(start, func(t *target) error {
			time.Sleep(4 * time.Second)
			return c.run(res, t, curve)
		})
		if err = errors.Join(err, res.save()); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// sizes are the points of a curve, scaled.
func (b *bench) sizes(all ...int) []int {
	for i := range all {
		all[i] = b.n(all[i])
	}
	return all
}

// objectsCurve fills one namespace with config maps, then starts the server anew
// on what is there.
func objectsCurve(p harness.Programs) func(*results, *target, *curve) error {
	return func(_ *results, t *target, c *curve) error {
		b := newBench(t)
		defer b.loader.close()
		if err := b.setUp(configMaps); err != nil {
			return err
		}
		c.add(0, "resident", mb(residentBytes(t.pids)))
		have := 0
		for _, n := range b.sizes(1000, 10_000, 100_000, 1_000_000) {
			from := have
			m, err := b.load(n-from, func(i int) request {
				return request{method: "POST", path: configMaps.collection, contentType: "application/json",
					body: configMaps.object(name("o", from+i)), want: 201}
			})
			if err != nil {
				return err
			}
			have = n
			c.add(n, "create", cost(m))
			time.Sleep(2 * time.Second)
			c.add(n, "resident", mb(residentBytes(t.pids)))
			if err := b.readCosts(c, n); err != nil {
				return err
			}
		}
		return restart(p, t, c, have)
	}
}

// readCosts measures reads among n objects.
func (b *bench) readCosts(c *curve, n int) error {
	get, err := b.load(b.n(4000), func(i int) request { return request{method: "GET", path: configMaps.path(i % n), want: 200} })
	if err != nil {
		return err
	}
	c.add(n, "get", cost(get))
	for _, q := range []struct{ label, query string }{{"page of 500", "?limit=500"}, {"list of all", ""}} {
		repeat := min(8, max(1, 800_000/n))
		if q.query != "" {
			repeat = 64
		}
		m, err := b.load(repeat, func(int) request { return request{method: "GET", path: configMaps.collection + q.query, want: 200} })
		if err != nil {
			return err
		}
		c.add(n, q.label, cost(m))
	}
	c.add(n, "resident after lists", mb(residentBytes(b.target.pids)))
	return nil
}

// restart measures a start on a store with many objects.
func restart(p harness.Programs, t *target, c *curve, n int) error {
	if err := t.again(p); err != nil {
		return err
	}
	c.add(n, "exec to ready", fmt.Sprintf("%d ms", t.ready.Milliseconds()))
	time.Sleep(3 * time.Second)
	c.add(n, "resident after start", mb(residentBytes(t.pids)))
	b := newBench(t)
	defer b.loader.close()
	start := time.Now()
	if err := b.one(request{method: "GET", path: configMaps.collection + "?limit=500", want: 200}); err != nil {
		return err
	}
	c.add(n, "first page after start", fmt.Sprintf("%d ms", time.Since(start).Milliseconds()))
	c.add(n, "database", mb(size(filepath.Join(t.dir, "etcd"))))
	return nil
}

// watchersCurve opens watches that have no events, then has one event go to
// all of them.
func watchersCurve(_ *results, t *target, c *curve) error {
	b := newBench(t)
	defer b.loader.close()
	if err := b.setUp(configMaps); err != nil {
		return err
	}
	if err := b.fill(configMaps, 1, 1); err != nil {
		return err
	}
	c.add(0, "resident", mb(residentBytes(t.pids)))
	for _, n := range b.sizes(100, 1000, 10_000, 50_000) {
		// Half of them watch another object, and shall cost the event nothing.
		others, err := b.openWatches(configMaps, n/2, configMaps.collection+"?watch=true&fieldSelector=metadata.name%3Dother", 1)
		if err != nil {
			return err
		}
		time.Sleep(time.Second)
		c.add(n, "resident", mb(residentBytes(t.pids)))
		m, err := fanOut(n-n/2, max(4, min(40, 200_000/n)))(b, configMaps)
		others.cancel()
		others.done.Wait()
		if err != nil {
			return err
		}
		c.add(n, "delivery to half of them", cost(m))
	}
	return nil
}

// namespacesCurve makes namespaces with a config map each.
func namespacesCurve(_ *results, t *target, c *curve) error {
	b := newBench(t)
	defer b.loader.close()
	have := 0
	for _, n := range b.sizes(100, 1000, 5000) {
		from := have
		m, err := b.load(n-from, func(i int) request {
			return request{method: "POST", path: "/api/v1/namespaces", contentType: "application/json",
				body: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name("n", from+i)), want: 201}
		})
		if err != nil {
			return err
		}
		c.add(n, "create namespace", cost(m))
		m, err = b.load(n-from, func(i int) request {
			return request{method: "POST", path: "/api/v1/namespaces/" + name("n", from+i) + "/configmaps", contentType: "application/json",
				body: configMaps.object("o"), want: 201}
		})
		if err != nil {
			return err
		}
		have = n
		c.add(n, "create in each", cost(m))
		m, err = b.load(b.n(4000), func(i int) request {
			return request{method: "GET", path: "/api/v1/namespaces/" + name("n", i%n) + "/configmaps", want: 200}
		})
		if err != nil {
			return err
		}
		c.add(n, "list of one namespace", cost(m))
		time.Sleep(2 * time.Second)
		c.add(n, "resident", mb(residentBytes(t.pids)))
	}
	return nil
}

// bindingsCurve gives many users a role and asks as some of them.
func bindingsCurve(_ *results, t *target, c *curve) error {
	b := newBench(t)
	defer b.loader.close()
	if err := b.setUp(configMaps); err != nil {
		return err
	}
	if err := b.fill(configMaps, 1, 1); err != nil {
		return err
	}
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/"
	err := b.create(setupObject{rbac + "roles", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"reader"},
"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]}`})
	if err != nil {
		return err
	}
	have := 0
	for _, n := range b.sizes(10, 1000, 5000) {
		from := have
		m, err := b.load(n-from, func(i int) request {
			return request{method: "POST", path: rbac + "rolebindings", contentType: "application/json", body: fmt.Appendf(nil,
				`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"b%[1]d"},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"},
"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"user%[1]d"}]}`, from+i), want: 201}
		})
		if err != nil {
			return err
		}
		have = n
		c.add(n, "create binding", cost(m))
		last := fmt.Sprintf("user%d", n-1)
		if err := t.wait(func() error { return b.one(request{method: "GET", path: configMaps.path(0), want: 200, user: last}) }); err != nil {
			return err
		}
		allowed, err := b.load(b.n(8000), func(i int) request {
			return request{method: "GET", path: configMaps.path(0), want: 200, user: fmt.Sprintf("user%d", i%n)}
		})
		if err != nil {
			return err
		}
		c.add(n, "get, allowed by a binding", cost(allowed))
		denied, err := b.load(b.n(4000), func(int) request {
			return request{method: "GET", path: configMaps.path(0), want: 403, user: "stranger"}
		})
		if err != nil {
			return err
		}
		c.add(n, "get, denied", cost(denied))
		time.Sleep(2 * time.Second)
		c.add(n, "resident", mb(residentBytes(t.pids)))
	}
	return nil
}

// definitionsCurve makes kinds, and one object of each.
func definitionsCurve(_ *results, t *target, c *curve) error {
	b := newBench(t)
	defer b.loader.close()
	if err := b.setUp(configMaps); err != nil {
		return err
	}
	if err := b.fill(configMaps, 1, 1); err != nil {
		return err
	}
	have := 0
	for _, n := range b.sizes(10, 200, 1000) {
		from := have
		m, err := b.load(n-from, func(i int) request {
			d := definition(fmt.Sprintf("kind%d", from+i), "many.example.com")
			return request{method: "POST", path: d.path, contentType: "application/json", body: []byte(d.body), want: 201}
		})
		if err != nil {
			return err
		}
		have = n
		c.add(n, "create definition", cost(m))
		path := func(i int) string {
			return fmt.Sprintf("/apis/many.example.com/v1alpha1/namespaces/default/kind%ds", i)
		}
		if err := t.wait(func() error { return b.one(request{method: "GET", path: path(n - 1), want: 200}) }); err != nil {
			return err
		}
		time.Sleep(2 * time.Second)
		c.add(n, "resident, unused", mb(residentBytes(t.pids)))
		m, err = b.load(n-from, func(i int) request {
			return request{method: "POST", path: path(from + i), contentType: "application/json", want: 201,
				body: fmt.Appendf(nil, `{"apiVersion":"many.example.com/v1alpha1","kind":"Kind%d","metadata":{"name":"o"},%s}`, from+i, flunderPayload)}
		})
		if err != nil {
			return err
		}
		c.add(n, "create the first of each", cost(m))
		m, err = b.load(b.n(4000), func(int) request { return request{method: "GET", path: configMaps.path(0), want: 200} })
		if err != nil {
			return err
		}
		c.add(n, "get of another kind", cost(m))
		c.add(n, "resident, each used", mb(residentBytes(t.pids)))
	}
	return nil
}
