package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// bench is the load on one target.
type bench struct {
	target *target
	loader *loader
}

func newBench(t *target) *bench { return &bench{target: t, loader: newLoader(t.url, t.tls)} }

// n scales a number of operations.
func (b *bench) n(n int) int { return max(1, int(float64(n)**scale)) }

func (b *bench) load(n int, next func(i int) request) (measured, error) {
	return b.loader.run(n, b.target.pids, next)
}

// one sends a single request.
func (b *bench) one(r request) error {
	_, err := b.loader.send(b.loader.clients[0], r)
	return err
}

// setUp creates what a resource needs and waits until it is served.
func (b *bench) setUp(r resource) error {
	for _, o := range r.setup {
		if err := b.create(o); err != nil {
			return err
		}
	}
	return b.target.wait(func() error { return b.one(request{method: "GET", path: r.collection, want: 200}) })
}

// create makes an object, unless it is there.
func (b *bench) create(o setupObject) error {
	err := b.one(request{method: "POST", path: o.path, contentType: "application/json", body: []byte(o.body),
		want: 201})
	var status *statusError
	if errors.As(err, &status) && status.code == http.StatusConflict {
		return nil
	}
	return err
}

// created reports whether a server that somebody else runs was loaded before.
func (b *bench) created(r resource) bool {
	return *kubeconfig != "" && b.one(request{method: "GET", path: r.path(b.n(present) - 1), want: 200}) == nil
}

// get reads a path as JSON into v.
func (b *bench) get(path string, v any) error {
	req, err := http.NewRequest(http.MethodGet, b.loader.url+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := b.loader.clients[0].Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s, %w", path, resp.Status, err)
	}
	if b.loader.replies != nil {
		b.loader.replies.record(req, resp, body)
	}
	return json.Unmarshal(body, v)
}

// version is the present resourceVersion of a resource's collection.
func (b *bench) version(r resource) (string, error) {
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	err := b.get(r.collection+"?limit=1", &list)
	return list.Metadata.ResourceVersion, err
}

// objects reads the objects whose name begins with prefix, by name.
func (b *bench) objects(r resource, prefix string) (map[string]map[string]any, error) {
	var list struct{ Items []map[string]any }
	if err := b.get(r.collection, &list); err != nil {
		return nil, err
	}
	byName := map[string]map[string]any{}
	for _, o := range list.Items {
		meta, _ := o["metadata"].(map[string]any)
		if name, _ := meta["name"].(string); strings.HasPrefix(name, prefix) {
			o["apiVersion"], o["kind"] = r.apiVersion, r.kind
			byName[name] = o
		}
	}
	return byName, nil
}
