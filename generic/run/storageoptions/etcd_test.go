package storageoptions

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestEmbeddedEtcdValidation(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Etcd)
		want   string
	}{
		"defaults":           {func(*Etcd) {}, ""},
		"set":                {func(o *Etcd) { o.EmbeddedQuotaBytes, o.SnapshotInterval = 64<<20, time.Hour }, ""},
		"a cluster":          {func(o *Etcd) { o.Servers = []string{"http://127.0.0.1:2379"} }, ""},
		"too small":          {func(o *Etcd) { o.EmbeddedQuotaBytes = 1 << 20 }, "--embedded-etcd-quota-bytes must be at least"},
		"always cut":         {func(o *Etcd) { o.EmbeddedSnapshotCount = 1 }, "--embedded-etcd-snapshot-count must be between"},
		"on all addresses":   {func(o *Etcd) { o.EmbeddedListen = "https://0.0.0.0:2379" }, "--embedded-etcd-listen: \"https://0.0.0.0:2379\" is neither"},
		"without TLS":        {func(o *Etcd) { o.EmbeddedListen = "http://127.0.0.1:2379" }, "--embedded-etcd-listen"},
		"none kept":          {func(o *Etcd) { o.SnapshotRetention = 0 }, "--snapshot-retention must be at least 1"},
		"negative":           {func(o *Etcd) { o.SnapshotInterval = -1 }, "--snapshot-interval cannot be negative"},
		"of no use":          {func(o *Etcd) { o.Servers, o.EmbeddedQuotaBytes = []string{"http://127.0.0.1:2379"}, 64<<20 }, "have no effect with --etcd-servers"},
		"no snapshots of it": {func(o *Etcd) { o.Servers, o.SnapshotInterval = []string{"http://127.0.0.1:2379"}, time.Hour }, "have no effect with --etcd-servers"},
	} {
		o := NewEtcd()
		c.change(o)
		got := ""
		if err := errors.Join(o.Validate()...); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
