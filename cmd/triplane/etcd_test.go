package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"triplane.dev/internal/freeport"
)

// The flags are those that envtest sets.
func TestEtcd(t *testing.T) {
	port, err := freeport.Take()
	if err != nil {
		t.Fatal(err)
	}
	dir, address := filepath.Join(t.TempDir(), "data"), fmt.Sprint("127.0.0.1:", port)
	args := []string{"--data-dir=" + dir, "--listen-client-urls=http://" + address,
		"-listen-peer-urls", "http://localhost:0",
		"--advertise-client-urls=http://" + address, "--unsafe-no-fsync=true"}
	for run := range 2 {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- runEtcd(ctx, args, io.Discard) }()
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, DialTimeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		within, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		got, err := client.Get(within, "key")
		if err != nil || len(got.Kvs) != run {
			t.Fatalf("run %d: %v, %v", run, got, err)
		}
		if _, err := client.Put(within, "key", "value"); err != nil {
			t.Fatal(err)
		}
		members, err := client.MemberList(within)
		if err != nil || len(members.Members) != 1 || fmt.Sprint(members.Members[0].ClientURLs) != "[http://"+address+"]" {
			t.Errorf("members %v, %v", members, err)
		}
		for path, want := range map[string]string{"/health": `{"health":"true","reason":""}`, "/readyz": "ok",
			"/version": `"etcdserver":"3.`, "/metrics": "etcd_server_has_leader 1"} {
			if body := fetch(t, "http://"+address+path); !strings.Contains(body, want) {
				t.Errorf("%s returns %.200s", path, body)
			}
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, response.Status, err)
	}
	return string(body)
}

func TestEtcdFlags(t *testing.T) {
	var help bytes.Buffer
	if err := runEtcd(t.Context(), []string{"--help"}, &help); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^\s*--unsafe-no-fsync\b`).MatchString(help.String()) { // as envtest looks for it
		t.Errorf("the help is %s", help.String())
	}
	for _, c := range []struct{ arg, want string }{
		{"--listen-client-urls=https://localhost:1", "--listen-client-urls"},
		{"--advertise-client-urls=localhost", "--advertise-client-urls"},
		{"--initial-cluster=a=http://localhost:1", "unknown flag"},
		{"gateway", "takes only flags"},
	} {
		if err := runEtcd(t.Context(), []string{c.arg}, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.arg, err)
		}
	}
}
