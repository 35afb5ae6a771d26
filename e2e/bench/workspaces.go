package main

import (
	"fmt"
	"net/http"
	"time"

	"triplane.dev/e2e/harness"
)

const (
	// workspacesName is the server that is measured with workspaces.
	workspacesName = "Triplane, embedded etcd, workspaces"
	// manyWorkspaces are created, of which furnished have CRDs and objects, and wake later.
	manyWorkspaces, furnished = 1000, 100
	workspaceCRDs             = 5
	workspaceObjects          = 50

	// What addKept is told of.
	awakeWorkspace  = "workspace, awake and idle"
	asleepWorkspace = "workspace, asleep"
	manyInUse       = "1,000 workspaces, 100 of them in use"
)

// workspaceFlags keep workspaces awake until the server is started again.
var workspaceFlags = []string{"--workspaces", "--workspace-idle-timeout=1h"}

// inWorkspaces is the row of the resource "Workspace": its creation, its memory awake and asleep, and its wake.
func inWorkspaces(p harness.Programs) kind {
	return kind{workspacesName, func(res *results, server string) error {
		return withTarget(func(dir string) (*target, error) {
			t := &target{}
			return t, t.triplane(p, dir, "", true, workspaceFlags...)
		}, func(t *target) error { return measureWorkspaces(res, server, p, t) })
	}}
}

func inWorkspace(i int, path string) string { return fmt.Sprintf("/workspaces/w%d%s", i, path) }

func measureWorkspaces(res *results, server string, p harness.Programs, t *target) error {
	const row = "Workspace"
	time.Sleep(idleAfter)
	before := residentBytes(t.pids)
	res.addStart(server, t.ready, before)
	b := newBench(t)
	n, used := b.n(manyWorkspaces), b.n(furnished)
	m, err := b.load(used, func(i int) request {
		return createWorkspace(i, inWorkspace(i, "/api/v1/namespaces/default"))
	})
	if err != nil {
		return err
	}
	res.add(row, "create, until its first object is served", server, m)
	time.Sleep(15 * time.Second) // what is not needed is given back
	res.addKept(awakeWorkspace, (residentBytes(t.pids)-before)/int64(used))
	if err := b.furnish(used); err != nil {
		return err
	}
	if m, err = b.load(n-used, func(i int) request { return createWorkspace(used+i, "") }); err != nil {
		return err
	}
	res.add(row, "create", server, m)
	get := func(i int) request {
		return request{method: "GET", path: inWorkspace(i%used, widgetPath(0)+"/o0"), want: http.StatusOK}
	}
	if m, err = b.load(b.n(5000), get); err != nil {
		return err
	}
	res.add(row, "get, in each of them", server, m)
	time.Sleep(15 * time.Second)
	res.addKept(manyInUse, residentBytes(t.pids))
	b.loader.close()

	if err := t.again(p); err != nil {
		return err
	}
	time.Sleep(idleAfter)
	res.add(row, "start with all of them asleep", server,
		measured{ops: 1, cpu: cpuTime(t.pids), elapsed: t.ready, p50: t.ready, p99: t.ready})
	res.addKept(asleepWorkspace, (residentBytes(t.pids)-before)/int64(n))
	b = newBench(t)
	defer b.loader.close()
	if m, err = b.load(used, get); err != nil {
		return err
	}
	res.add(row, "wake, until an object is served", server, m)
	return nil
}

func createWorkspace(i int, until string) request {
	return request{method: "POST", path: "/apis/workspaces.triplane.dev/v1alpha1/workspaces",
		contentType: "application/json", want: http.StatusCreated,
		body: fmt.Appendf(nil, `{"apiVersion":"workspaces.triplane.dev/v1alpha1","kind":"Workspace","metadata":{"name":"w%d"}}`, i), until: until}
}

func widgetPath(crd int) string {
	return fmt.Sprintf("/apis/example.com/v1/namespaces/default/widget%ds", crd)
}

// furnish creates CRDs and objects in the first n workspaces.
func (b *bench) furnish(n int) error {
	_, err := b.load(n*workspaceCRDs, func(i int) request {
		w, crd := i/workspaceCRDs, i%workspaceCRDs
		return request{method: "POST", path: inWorkspace(w, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
			contentType: "application/json",
			want:        http.StatusCreated, until: inWorkspace(w, widgetPath(crd)), body: fmt.Appendf(nil, `{"apiVersion":"apiextensions.k8s.io/v1",
			"kind":"CustomResourceDefinition","metadata":{"name":"widget%[1]ds.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
			"names":{"plural":"widget%[1]ds","kind":"Widget%[1]d"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":
			{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`, crd)}
	})
	if err != nil {
		return err
	}
	_, err = b.load(n*workspaceObjects, func(i int) request {
		w, o := i/workspaceObjects, i%workspaceObjects
		crd := o % workspaceCRDs
		return request{method: "POST", path: inWorkspace(w, widgetPath(crd)), contentType: "application/json",
			want: http.StatusCreated,
			body: fmt.Appendf(nil, `{"apiVersion":"example.com/v1","kind":"Widget%d","metadata":{"name":"o%d"},"spec":{"size":3}}`, crd, o)}
	})
	return err
}
