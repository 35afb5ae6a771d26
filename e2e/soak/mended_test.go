package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
)

// TestFirstStart kills servers in the first moments of their data directories, and takes the database
// from them that etcd can make again from its log.
func TestFirstStart(t *testing.T) {
	together(t)
	n := 3
	if long() {
		n = 20
	}
	for range n {
		s := harness.Prepare(t)
		s.Begin(t)
		eventually(t, time.Minute, func() error {
			logs, err := filepath.Glob(filepath.Join(s.DataDir, "etcd", "member", "wal", "*"))
			if len(logs) == 0 {
				err = errors.Join(err, errors.New("there is no log"))
			}
			return err
		})
		time.Sleep(time.Duration(rand.IntN(int(30 * time.Millisecond))))
		s.Kill()
		s.Restart(t)
		writes := oracle.NewWrites("default")
		writes.During(t, s.Config, 5, s.Kill)
		if err := os.Truncate(filepath.Join(s.DataDir, "etcd", "member", "snap", "db"), 0); err != nil {
			t.Fatal(err)
		}
		s.Restart(t)
		writes.Check(t, s.Config)
		s.Kill()
	}
	mended(t, "6 of 6 killed within 30 ms of the log's first file never started again", "all start again",
		"%d of %d started again, then once more with an empty database file", n, n)
}

// TestFullStore fills the embedded store, starts it again, reads, deletes and writes.
func TestFullStore(t *testing.T) {
	together(t)
	s := harness.Start(t, "--embedded-etcd-quota-bytes=16777216", "--embedded-etcd-snapshot-count=200")
	client := kubernetes.NewForConfigOrDie(s.Config)
	maps := client.CoreV1().ConfigMaps("default")
	create := func(name string) error {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name},
			Data: map[string]string{"v": strings.Repeat("x", large)}}
		_, err := maps.Create(t.Context(), c, metav1.CreateOptions{})
		return err
	}
	n := 0
	var err error
	for ; err == nil; n++ {
		err = create(fmt.Sprintf("c%d", n))
	}
	n-- // the last one was not created
	if code := statusCode(err); code != http.StatusInsufficientStorage {
		t.Errorf("a write that does not fit: %v", err)
	}
	metrics, err := client.RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Raw()
	if err != nil || !strings.Contains(string(metrics), "triplane_embedded_etcd_quota_bytes 1.6777216e+07") ||
		strings.Contains(string(metrics), "refused_writes_total 0") {
		t.Errorf("the metrics do not say that the store is full: %v", err)
	}
	if err := s.Terminate(t); err != nil {
		t.Error(err)
	}
	began := time.Now()
	s.Restart(t)
	started := time.Since(began)
	list, err := maps.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != n {
		t.Fatalf("%d objects of %d, %v", len(list.Items), n, err)
	}
	for i := range n / 2 {
		if err := maps.Delete(t.Context(), fmt.Sprintf("c%d", i), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	again := eventually(t, time.Minute, func() error { return create("again") })
	mended(t, "writes failed, compaction was refused, and the server did not start again", "it starts, is read and emptied, and is written again",
		"writes are answered with 507; it started again in %v with all %d objects, and was written again %v after half were deleted", started.Round(time.Millisecond), n, again.Round(time.Millisecond))
}

// statusCode is that of an error that a server has answered, 0 of another one.
func statusCode(err error) int {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return 0
	}
	return int(status.Status().Code)
}

// TestOverwrites overwrites one large object.
func TestOverwrites(t *testing.T) {
	const limit = 600
	n := 60
	if long() {
		n = 600
	}
	s := harness.Start(t)
	before, highest := s.AnonymousBytes(), follow(t, s)
	if written := overwrite(t.Context(), s.Config, "one", n, 1); written != int64(n)*large {
		t.Errorf("%d bytes of %d were written", written, n*large)
	}
	most := highest()
	bounded(t, most, limit)
	mended(t, "600 overwrites of 900 KB took it from 80 to 1,600 MB", fmt.Sprintf("at most %d MB of memory", limit),
		"%d overwrites of 900 KB took it from %d to %d MB", n, before>>20, most>>20)
}

// TestEtcdAway has etcd be away, and looks what is answered meanwhile, and how soon all is well again.
func TestEtcdAway(t *testing.T) {
	together(t)
	const limit = 3 * time.Second
	away := *each
	if long() {
		away = 105 * time.Second
	}
	p, err := newProxy(t.Context(), strings.TrimPrefix(harness.StartEtcd(t), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}()
	s := harness.Start(t, "--etcd-servers=http://"+p.address())
	client := kubernetes.NewForConfigOrDie(s.Config).RESTClient()
	read := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return client.Get().AbsPath("/api/v1/namespaces/default/configmaps").Param("timeout", "1s").Do(ctx).Error()
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	p.refuse(true)
	answers := map[int]int{}
	for end := time.Now().Add(away); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		answers[statusCode(read())]++
	}
	for code, n := range answers {
		if code != http.StatusServiceUnavailable && code != http.StatusGatewayTimeout {
			t.Errorf("%d answers of %d", n, code)
		}
	}
	p.refuse(false)
	took := eventually(t, time.Minute, read)
	if took > limit {
		t.Errorf("reads were answered %v after etcd had come back", took)
	}
	mended(t, "24 s after an etcd that was away for 105 s, with answers of 500 until then", fmt.Sprintf("at most %v after it, and answers of 503 or 504 until then", limit),
		"%v after an etcd that was away for %v, with %d answers of 503 and %d of 504 until then",
		took.Round(time.Millisecond), away, answers[http.StatusServiceUnavailable], answers[http.StatusGatewayTimeout])
}
