package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/http2"

	"triplane.dev/e2e/harness"
	"triplane.dev/internal/freeport"
)

// replicasCurve runs three servers on a cluster of three etcd members, and has the clients ask
// one, two or all of them.
func replicasCurve(p harness.Programs) func(*bench, *curve) error {
	return func(alone *bench, c *curve) error {
		alone.target.close()
		return withTarget(func(dir string) (*target, error) { return startReplicas(p, dir) }, func(t *target) error {
			b := newBench(t)
			defer b.loader.close()
			if err := b.setUp(configMaps); err != nil {
				return err
			}
			for i, u := range t.replicas {
				next := newLoader(u.url, u.tls)
				if err := t.wait(func() error {
					_, err := next.send(next.clients[0], read(configMaps.collection))
					return err
				}); err != nil {
					return err
				}
				next.close()
				b.loader.share(t.replicas[:i+1])
				if err := b.replicaCosts(c, i+1); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// replicaCosts measures writes and reads through so many replicas. CPU is of all processes: the
// three servers and etcd's members.
func (b *bench) replicaCosts(c *curve, n int) error {
	object := func(i int) string { return name(fmt.Sprintf("r%d-", n), i) }
	m, err := b.load(b.n(present), func(i int) request {
		return post(configMaps.collection, string(configMaps.object(object(i))))
	})
	if err != nil {
		return err
	}
	c.add(n, "create, all processes", fmt.Sprintf("%s, %.0f op/s", cost(m), m.rate()))
	for _, q := range []struct{ column, query string }{{"get, consistent", ""}, {"get, resourceVersion=0", "?resourceVersion=0"}} {
		path := func(i int) string { return configMaps.collection + "/" + object(i%b.n(present)) + q.query }
		// A replica may not have heard yet of what another one wrote last.
		if err := b.target.wait(func() error {
			for _, client := range b.loader.clients {
				if _, err := b.loader.send(client, read(path(b.n(present)-1))); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		m, err := b.load(b.n(16_000), func(i int) request { return read(path(i)) })
		if err != nil {
			return err
		}
		c.add(n, q.column, fmt.Sprintf("%s, %.0f op/s", cost(m), m.rate()))
	}
	c.add(n, "resident, all processes", mb(residentBytes(b.target.pids)))
	return nil
}

// share has the clients ask several servers, in turn.
func (l *loader) share(servers []endpoint) {
	l.close()
	l.urls = map[*http.Client]string{}
	for i := range l.clients {
		s := servers[i%len(servers)]
		l.clients[i] = &http.Client{Transport: &http2.Transport{TLSClientConfig: s.tls.Clone(),
			DisableCompression: true}}
		l.urls[l.clients[i]] = s.url
	}
}

// endpoint is one server of several.
type endpoint struct {
	url string
	tls *tls.Config
}

// startReplicas starts three etcd members and three servers on them, which share their keys.
func startReplicas(p harness.Programs, dir string) (*target, error) {
	t := &target{}
	etcd, err := t.etcdCluster(p, dir, 3)
	if err != nil {
		return t, err
	}
	var all []endpoint
	for i := range 3 {
		own := filepath.Join(dir, fmt.Sprintf("triplane%d", i))
		if i > 0 {
			if err := os.CopyFS(filepath.Join(own, "pki"),
				os.DirFS(filepath.Join(dir, "triplane0", "pki"))); err != nil {
				return t, err
			}
		}
		if err := t.triplane(p, own, etcd, true); err != nil {
			return t, err
		}
		all = append(all, endpoint{t.url, t.tls})
	}
	t.replicas, t.url, t.tls = all, all[0].url, all[0].tls
	return t, nil
}

// etcdCluster starts a cluster of etcd members and returns their URLs, separated by commas.
func (t *target) etcdCluster(p harness.Programs, dir string, n int) (string, error) {
	var clientURLs, peerURLs, initial []string
	for i := range n {
		for _, urls := range []*[]string{&clientURLs, &peerURLs} {
			port, err := freeport.Take()
			if err != nil {
				return "", err
			}
			*urls = append(*urls, fmt.Sprintf("http://127.0.0.1:%d", port))
		}
		initial = append(initial, fmt.Sprintf("m%d=%s", i, peerURLs[i]))
	}
	for i := range n {
		if err := t.run(p.Etcd, true, "--name", fmt.Sprintf("m%d", i), "--data-dir",
			filepath.Join(dir, fmt.Sprintf("etcd%d", i)), "--log-level", "error",
			"--listen-client-urls", clientURLs[i], "--advertise-client-urls", clientURLs[i], "--listen-peer-urls",
			peerURLs[i],
			"--initial-advertise-peer-urls", peerURLs[i], "--initial-cluster", strings.Join(initial, ",")); err != nil {
			return "", err
		}
	}
	return strings.Join(clientURLs, ","), t.wait(func() error {
		resp, err := http.Get(clientURLs[0] + "/health")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("etcd: %s", resp.Status)
		}
		return nil
	})
}
