package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"triplane/e2e/harness"
)

// largeDefinitionsCurve makes CRDs as large as providers' are, which nobody uses, and starts the
// server anew on them.
func largeDefinitionsCurve(p harness.Programs) func(*results, *target, *curve) error {
	return func(_ *results, t *target, c *curve) error {
		b := newBench(t)
		defer b.loader.close()
		have := 0
		for _, n := range b.sizes(200, 1000, 5000) {
			from := have
			m, err := b.load(n-from, func(i int) request {
				return request{method: "POST", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", contentType: "application/json",
					body: largeDefinition(from + i), want: http.StatusCreated}
			})
			if err != nil {
				return err
			}
			have = n
			c.add(n, "create", cost(m))
			last := request{method: "GET", path: "/apis/" + largeGroup + "/v1/" + largePlural(n-1) + "?limit=1", want: http.StatusOK}
			if err := t.wait(func() error { return b.one(last) }); err != nil {
				return err
			}
			for _, column := range []string{"/openapi/v2", "again"} {
				m, err := b.load(1, func(int) request { return request{method: "GET", path: "/openapi/v2", want: http.StatusOK, gzip: true} })
				if err != nil {
					return err
				}
				c.add(n, column, fmt.Sprintf("%.0f ms CPU", m.cpuPerOp()))
			}
			time.Sleep(5 * time.Second)
			c.add(n, "resident, unused", mb(residentBytes(t.pids)))
		}
		if err := t.again(p); err != nil {
			return err
		}
		c.add(have, "exec to ready", fmt.Sprintf("%d ms", t.ready.Milliseconds()))
		time.Sleep(10 * time.Second)
		c.add(have, "start", fmt.Sprintf("%.0f ms CPU", float64(cpuTime(t.pids).Milliseconds())))
		c.add(have, "resident after start", mb(residentBytes(t.pids)))
		return nil
	}
}

// rolesCurve makes 1,000 namespaces with a role each, and up to 20 bindings of a user in each.
func rolesCurve(_ *results, t *target, c *curve) error {
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/"
	b := newBench(t)
	defer b.loader.close()
	namespaces := b.n(1000)
	namespace := func(i int) string { return name("n", i%namespaces) }
	for _, next := range []func(i int) request{
		func(i int) request {
			return post("/api/v1/namespaces", fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, namespace(i)))
		},
		func(i int) request {
			return post(rbac+namespace(i)+"/roles", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"reader"},
"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]}`)
		},
		func(i int) request {
			return post("/api/v1/namespaces/"+namespace(i)+"/configmaps", string(configMaps.object("o")))
		},
	} {
		if _, err := b.load(namespaces, next); err != nil {
			return err
		}
	}
	have := 0
	for _, n := range b.sizes(1000, 20_000) {
		from := have
		m, err := b.load(n-from, func(i int) request {
			return post(rbac+namespace(from+i)+"/rolebindings", fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"b%[1]d"},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"},
"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"user%[1]d"}]}`, from+i))
		})
		if err != nil {
			return err
		}
		have = n
		c.add(n, "create binding", cost(m))
		get := func(i int, want int) request {
			return request{method: "GET", path: "/api/v1/namespaces/" + namespace(i) + "/configmaps/o", want: want, user: fmt.Sprintf("user%d", i%n)}
		}
		if err := t.wait(func() error { return b.one(get(n-1, http.StatusOK)) }); err != nil {
			return err
		}
		allowed, err := b.load(b.n(8000), func(i int) request { return get(i, http.StatusOK) })
		if err != nil {
			return err
		}
		c.add(n, "get, allowed by a binding", cost(allowed))
		denied, err := b.load(b.n(4000), func(i int) request {
			r := get(i, http.StatusForbidden)
			r.path = "/api/v1/namespaces/" + namespace(i+1) + "/configmaps/o"
			return r
		})
		if err != nil {
			return err
		}
		c.add(n, "get, denied", cost(denied))
		time.Sleep(5 * time.Second)
		c.add(n, "resident", mb(residentBytes(t.pids)))
	}
	return nil
}

func post(path, body string) request {
	return request{method: "POST", path: path, contentType: "application/json", body: []byte(body), want: http.StatusCreated}
}

// overwritesCurve writes sixteen config maps of almost 1 MB again and again.
func overwritesCurve(_ *results, t *target, c *curve) error {
	b := newBench(t)
	defer b.loader.close()
	const objects = clients
	body := func(i, revision int) []byte {
		text := strings.Repeat(fmt.Sprintf("line %d of %d. ", i, revision), 1<<20/20)
		return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"text":%q}}`, name("big", i), text)
	}
	if _, err := b.load(objects, func(i int) request { return post(configMaps.collection, string(body(i, 0))) }); err != nil {
		return err
	}
	have := 0
	for _, n := range b.sizes(100, 1000, 2000) {
		from := have
		m, err := b.load(n-from, func(i int) request {
			return request{method: "PUT", path: configMaps.collection + "/" + name("big", i%objects), contentType: "application/json",
				body: body(i%objects, from+i), want: http.StatusOK}
		})
		if err != nil {
			return err
		}
		have = n
		c.add(n, "update", cost(m))
		c.add(n, "resident at once", mb(residentBytes(t.pids)))
		time.Sleep(5 * time.Second)
		c.add(n, "resident after 5 s", mb(residentBytes(t.pids)))
		c.add(n, "database", mb(size(filepath.Join(t.dir, "etcd", "member", "snap"))))
	}
	return nil
}
