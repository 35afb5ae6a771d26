package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"triplane.dev"
	"triplane.dev/e2e/harness"
	"triplane.dev/internal/freeport"
)

// Servers with controllers, whose own rows these are: all other rows are measured
// without. The last two are there to be compared, where -kube-controller-manager says
// which one.
const (
	controlledName         = "Triplane, embedded etcd, controllers"
	externalControlledName = "Triplane + etcd process, controllers"
	managerName            = "Triplane + etcd process + kube-controller-manager"
)

// controlled are the servers with controllers.
func controlled(p harness.Programs) []kind {
	all := []kind{{controlledName, measureControllers(func(dir string) (*target, error) {
		t := &target{}
		return t, t.triplane(p, dir, "", true, "--controllers=*")
	})}}
	if *controllerManager == "" {
		return all
	}
	return append(all,
		kind{externalControlledName, measureControllers(func(dir string) (*target, error) {
			return startWithEtcd(p, dir, "--controllers=*")
		})},
		kind{managerName, measureControllers(func(dir string) (*target, error) { return startManaged(p, dir) })})
}

// startManaged starts a server without controllers, and kube-controller-manager beside
// it: its controllers that Triplane has, too, and without its limit of 20 requests a
// second, which would be all that is measured.
func startManaged(p harness.Programs, dir string) (*target, error) {
	t, err := startWithEtcd(p, dir)
	if err != nil {
		return t, err
	}
	port, err := freeport.Take()
	if err != nil {
		return t, err
	}
	keys := filepath.Join(t.dir, "pki")
	names := slices.DeleteFunc(triplane.ControllerNames(),
		func(name string) bool { return name == "storage-version-migrator-controller" })
	if err := t.run(*controllerManager, true, "--kubeconfig", t.kubeconfig, "--authentication-kubeconfig", t.kubeconfig,
		"--authorization-kubeconfig", t.kubeconfig, "--bind-address", "127.0.0.1", "--secure-port", strconv.Itoa(port),
		"--cert-dir", filepath.Join(dir, "manager"), "--controllers", strings.Join(names, ","),
		"--kube-api-qps", "10000", "--kube-api-burst", "10000", "--use-service-account-credentials",
		"--service-account-private-key-file", filepath.Join(keys, "sa.key"),
		"--root-ca-file", filepath.Join(keys, "ca.crt"), "--cluster-signing-cert-file", filepath.Join(keys, "ca.crt"),
		"--cluster-signing-key-file", filepath.Join(keys, "ca.key")); err != nil {
		return t, err
	}
	b := newBench(t)
	defer b.loader.close()
	return t, t.wait(func() error { // it has begun
		return b.one(request{method: "GET", path: "/api/v1/namespaces/default/serviceaccounts/default",
			want: http.StatusOK})
	})
}

// dependents is how many objects a namespace, or an owner, is deleted with.
const dependents = 10_000

// measureControllers deletes a namespace, and owners, with many objects. CPU/op and
// op/s are by object, from the request until the last one is gone; memory is after
// all of them.
func measureControllers(start func(dir string) (*target, error)) func(res *results, name string) error {
	return func(res *results, server string) error {
		return withTarget(start, func(t *target) error {
			time.Sleep(10 * time.Second)
			res.addStart(server, t.ready, residentBytes(t.pids))
			b := newBench(t)
			defer b.loader.close()
			for i, c := range []struct{ phase, policy string }{
				{"delete a namespace of 10,000", ""},
				{"delete an owner of 10,000, background", "Background"},
				{"delete an owner of 10,000, foreground", "Foreground"},
			} {
				if !wanted(c.phase) {
					continue
				}
				m, err := b.cascade(fmt.Sprintf("bench-%d", i), c.policy)
				if err != nil {
					return fmt.Errorf("%s: %w", c.phase, err)
				}
				res.add(configMaps.name, c.phase, server, m)
			}
			time.Sleep(5 * time.Second)
			res.addLoaded(server, residentBytes(t.pids))
			return nil
		})
	}
}

// cascade fills a namespace, with dependents of one object where a policy is given,
// and deletes the namespace, or that object.
func (b *bench) cascade(namespace, policy string) (measured, error) {
	const namespaces = "/api/v1/namespaces"
	if err := b.create(setupObject{namespaces, fmt.Sprintf(`{"metadata":{"name":%q}}`, namespace)}); err != nil {
		return measured{}, err
	}
	gone, owners, body := namespaces+"/"+namespace, "", []byte(nil)
	if policy != "" {
		secrets := gone + "/secrets"
		if err := b.create(setupObject{secrets, `{"metadata":{"name":"owner"}}`}); err != nil {
			return measured{}, err
		}
		var owner struct {
			Metadata struct {
				UID string `json:"uid"`
			} `json:"metadata"`
		}
		if err := b.get(secrets+"/owner", &owner); err != nil {
			return measured{}, err
		}
		owners = fmt.Sprintf(`,"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"owner","uid":%q,"blockOwnerDeletion":true}]`, owner.Metadata.UID)
		body, _ = json.Marshal(map[string]string{"kind": "DeleteOptions", "apiVersion": "v1",
			"propagationPolicy": policy})
	}
	n := b.n(dependents)
	if _, err := b.load(n, func(i int) request {
		return request{method: "POST", path: namespaces + "/" + namespace + "/configmaps",
			contentType: "application/json", want: http.StatusCreated,
			body: fmt.Appendf(nil, `{"metadata":{"name":%q%s},%s}`, name("o", i), owners, configMaps.payload)}
	}); err != nil {
		return measured{}, err
	}
	deleted := gone
	if policy != "" {
		deleted = gone + "/secrets/owner"
	}
	return b.until(n, request{method: "DELETE", path: deleted, contentType: "application/json", body: body,
		want: http.StatusOK}, namespace, policy)
}

// until sends a request and waits until what it deletes is gone: the namespace, or
// all config maps but the one that each namespace has.
func (b *bench) until(n int, r request, namespace, policy string) (measured, error) {
	m := measured{ops: n, cpu: -cpuTime(b.target.pids)}
	start := time.Now()
	if err := b.one(r); err != nil {
		return m, err
	}
	for !b.emptied(namespace, policy) {
		if time.Since(start) > 5*time.Minute {
			return m, fmt.Errorf("objects of %s are left", namespace)
		}
		time.Sleep(10 * time.Millisecond)
	}
	m.elapsed = time.Since(start)
	m.cpu += cpuTime(b.target.pids)
	m.p50, m.p99 = m.elapsed, m.elapsed
	return m, nil
}

// emptied reports whether a namespace, or all that an owner had in it, is gone.
func (b *bench) emptied(namespace, policy string) bool {
	path := "/api/v1/namespaces/" + namespace
	if policy == "" {
		return b.one(request{method: "GET", path: path, want: http.StatusNotFound}) == nil
	}
	var list struct {
		Items []struct{} `json:"items"`
	}
	return b.get(path+"/configmaps?limit=2&resourceVersion=0", &list) == nil && len(list.Items) < 2
}
