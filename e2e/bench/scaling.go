package main

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"triplane.dev/e2e/harness"
)

// scaling measures how memory and time grow with what there is much of. Each
// curve has a server of its own.
func scaling(res *results, p harness.Programs) error {
	onPostgres := func(dir string) (*target, error) { return startWithPostgres(p, dir) }
	embedded := func(dir string) (*target, error) { return startTriplane(p, dir) }
	for _, c := range []struct {
		name    string
		measure func(b *bench, c *curve) error
		start   func(dir string) (*target, error) // nil: with the embedded etcd
	}{
		{"objects", objectsCurve(p), nil},
		{postgresCurve, databaseCurve(p, res), onPostgres},
		{historyCurve, revisionsCurve(p), onPostgres},
		{"writes to PostgreSQL, without an API server", writesCurve(openPostgres),
			func(string) (*target, error) { return startPostgres() }},
		{"writes to kine on PostgreSQL, without an API server", writesCurve(openEtcd),
			func(string) (*target, error) { return startKine() }},
		{"watchers", watchersCurve, nil},
		{"namespaces", namespacesCurve, nil},
		{"role bindings", bindingsCurve, nil},
		{"custom resource definitions", definitionsCurve, nil},
		{"custom resource definitions of 47 KB", largeDefinitionsCurve(p), nil},
		{"bindings in 1,000 namespaces", rolesCurve, nil},
		{"overwritten objects of 1 MB", overwritesCurve, nil},
		{"replicas on three etcd members", replicasCurve(p), nil},
	} {
		if !wanted(c.name) {
			continue
		}
		start := embedded
		if c.start != nil {
			start = c.start
		}
		curve := res.curve(c.name)
		err := withTarget(start, func(t *target) error {
			time.Sleep(4 * time.Second)
			b := newBench(t)
			defer b.loader.close()
			return c.measure(b, curve)
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

// grow creates more and more objects, the ith one with next(i), and enters what one costs. measure is
// called at each size; before is how many there were at the last one.
func (b *bench) grow(c *curve, column string, sizes []int, next func(i int) request,
	measure func(before, n int) error) error {
	before := 0
	for _, n := range sizes {
		if err := b.enter(c, n, column, n-before, func(i int) request { return next(before + i) }); err != nil {
			return err
		}
		if err := measure(before, n); err != nil {
			return err
		}
		before = n
	}
	return nil
}

// enter enters what one of some requests costs.
func (b *bench) enter(c *curve, size int, column string, requests int, next func(i int) request) error {
	m, err := b.load(requests, next)
	if err == nil {
		c.add(size, column, cost(m))
	}
	return err
}

// enterResident enters the memory of the server after a while.
func (b *bench) enterResident(c *curve, size int, column string, after time.Duration) {
	time.Sleep(after)
	c.add(size, column, mb(residentBytes(b.target.pids)))
}

// read is a request that reads a path.
func read(path string) request { return request{method: "GET", path: path, want: http.StatusOK} }

// post is a request that creates an object.
func post(path, body string) request {
	return request{method: "POST", path: path, contentType: "application/json", body: []byte(body),
		want: http.StatusCreated}
}

// objectsCurve fills one namespace with config maps, then starts the server anew
// on what is there.
func objectsCurve(p harness.Programs) func(*bench, *curve) error {
	return func(b *bench, c *curve) error {
		if err := b.setUp(configMaps); err != nil {
			return err
		}
		b.enterResident(c, 0, "resident", 0)
		sizes := b.sizes(1000, 10_000, 100_000, 1_000_000)
		create := func(i int) request { return post(configMaps.collection, string(configMaps.object(name("o", i)))) }
		if err := b.grow(c, "create", sizes, create, func(_, n int) error {
			b.enterResident(c, n, "resident", 2*time.Second)
			return b.enterReads(c, n)
		}); err != nil {
			return err
		}
		return restart(p, b.target, c, sizes[len(sizes)-1])
	}
}

// enterReads measures reads among n objects.
func (b *bench) enterReads(c *curve, n int) error {
	if err := b.enter(c, n, "get", b.n(4000), func(i int) request { return read(configMaps.path(i % n)) }); err != nil {
		return err
	}
	for _, q := range []struct {
		column, query string
		requests      int
	}{
		{"page of 500", "?limit=500", 64},
		{"list of all", "", min(8, max(1, 800_000/n))},
	} {
		if err := b.enter(c, n, q.column, q.requests,
			func(int) request { return read(configMaps.collection + q.query) }); err != nil {
			return err
		}
	}
	b.enterResident(c, n, "resident after lists", 0)
	return nil
}

// restart measures a start on a store with many objects.
func restart(p harness.Programs, t *target, c *curve, n int) error {
	if err := t.again(p); err != nil {
		return err
	}
	c.add(n, "exec to ready", fmt.Sprintf("%d ms", t.ready.Milliseconds()))
	b := newBench(t)
	defer b.loader.close()
	b.enterResident(c, n, "resident after start", 3*time.Second)
	start := time.Now()
	if err := b.one(read(configMaps.collection + "?limit=500")); err != nil {
		return err
	}
	c.add(n, "first page after start", fmt.Sprintf("%d ms", time.Since(start).Milliseconds()))
	c.add(n, "database", mb(size(filepath.Join(t.dir, "etcd"))))
	return nil
}

// watchersIdle is when the server has collected the garbage of opening the watches and returned the memory.
const watchersIdle = 15 * time.Second

// watchersCurve opens watches that have no events, then has one event go to
// all of them.
func watchersCurve(b *bench, c *curve) error {
	if err := b.setUpOne(); err != nil {
		return err
	}
	b.enterResident(c, 0, "resident", 0)
	for _, n := range b.sizes(100, 1000, 10_000, 50_000) {
		// Half of them watch another object, and shall cost the event nothing.
		others, err := b.openWatches(configMaps, n/2,
			configMaps.collection+"?watch=true&fieldSelector=metadata.name%3Dother", 1)
		if err != nil {
			return err
		}
		m, err := b.enterWatchers(c, n)
		others.cancel()
		others.done.Wait()
		if err != nil {
			return err
		}
		c.add(n, "delivery to half of them", cost(m))
	}
	return nil
}

// enterWatchers opens the other half of n watches, enters the memory of all when they are idle, and delivers events.
func (b *bench) enterWatchers(c *curve, n int) (measured, error) {
	events := b.n(max(4, min(40, 200_000/n)))
	fan, err := b.openFan(configMaps, n-n/2, events)
	if err != nil {
		return measured{}, err
	}
	b.enterResident(c, n, "resident", watchersIdle)
	return b.deliver(fan, configMaps, events)
}

// setUpOne creates one config map.
func (b *bench) setUpOne() error {
	if err := b.setUp(configMaps); err != nil {
		return err
	}
	return b.fill(configMaps, 1, 1)
}

// namespacesCurve makes namespaces with a config map each.
func namespacesCurve(b *bench, c *curve) error {
	maps := func(i int) string { return "/api/v1/namespaces/" + name("n", i) + "/configmaps" }
	return b.grow(c, "create namespace", b.sizes(100, 1000, 5000),
		func(i int) request { return namespace(name("n", i)) }, func(before, n int) error {
			if err := b.enter(c, n, "create in each", n-before,
				func(i int) request { return post(maps(before+i), string(configMaps.object("o"))) }); err != nil {
				return err
			}
			if err := b.enter(c, n, "list of one namespace", b.n(4000),
				func(i int) request { return read(maps(i % n)) }); err != nil {
				return err
			}
			b.enterResident(c, n, "resident", 2*time.Second)
			return nil
		})
}

// namespace is a request that creates one.
func namespace(name string) request {
	return post("/api/v1/namespaces", fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name))
}

// bindingsCurve gives many users a role and asks as some of them.
func bindingsCurve(b *bench, c *curve) error {
	if err := b.setUpOne(); err != nil {
		return err
	}
	if err := b.one(role("default")); err != nil {
		return err
	}
	as := func(user string, want int) request {
		return request{method: "GET", path: configMaps.path(0), want: want, user: user}
	}
	bind := func(i int) request { return binding("default", i) }
	return b.grow(c, "create binding", b.sizes(10, 1000, 5000), bind, func(_, n int) error {
		if err := b.target.wait(func() error { return b.one(as(user(n-1), http.StatusOK)) }); err != nil {
			return err
		}
		if err := b.enter(c, n, "get, allowed by a binding", b.n(8000),
			func(i int) request { return as(user(i%n), http.StatusOK) }); err != nil {
			return err
		}
		if err := b.enter(c, n, "get, denied", b.n(4000),
			func(int) request { return as("stranger", http.StatusForbidden) }); err != nil {
			return err
		}
		b.enterResident(c, n, "resident", 2*time.Second)
		return nil
	})
}

const rbacNamespaces = "/apis/rbac.authorization.k8s.io/v1/namespaces/"

// role is a request that creates the role that lets users read config maps of a namespace.
func role(namespace string) request {
	return post(rbacNamespaces+namespace+"/roles", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"reader"},
"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]}`)
}

// binding is a request that gives the ith user the role of a namespace.
func binding(namespace string, i int) request {
	return post(rbacNamespaces+namespace+"/rolebindings", fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"b%d"},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"},
"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":%q}]}`, i, user(i)))
}

func user(i int) string { return fmt.Sprintf("user%d", i) }

// definitionsCurve makes kinds, and one object of each.
func definitionsCurve(b *bench, c *curve) error {
	if err := b.setUpOne(); err != nil {
		return err
	}
	define := func(i int) request {
		d := definition(fmt.Sprintf("kind%d", i), "many.example.com")
		return post(d.path, d.body)
	}
	path := func(i int) string {
		return fmt.Sprintf("/apis/many.example.com/v1alpha1/namespaces/default/kind%ds", i)
	}
	create := func(i int) request {
		return post(path(i), fmt.Sprintf(`{"apiVersion":"many.example.com/v1alpha1","kind":"Kind%d","metadata":{"name":"o"},%s}`, i, flunderPayload))
	}
	return b.grow(c, "create definition", b.sizes(10, 200, 1000), define, func(before, n int) error {
		if err := b.target.wait(func() error { return b.one(read(path(n - 1))) }); err != nil {
			return err
		}
		b.enterResident(c, n, "resident, unused", 2*time.Second)
		if err := b.enter(c, n, "create the first of each", n-before,
			func(i int) request { return create(before + i) }); err != nil {
			return err
		}
		if err := b.enter(c, n, "get of another kind", b.n(4000),
			func(int) request { return read(configMaps.path(0)) }); err != nil {
			return err
		}
		b.enterResident(c, n, "resident, each used", 0)
		return nil
	})
}
