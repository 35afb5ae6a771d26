package host

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/observed"
)

// storageMetrics collects object counts, cache statistics and database sizes when /metrics is read. It caches the
// responses of the store.
type storageMetrics struct {
	objects  *objects
	clusters []*cluster
	// countsHold and sizesHold are how long responses of the store are cached; 0 disables these metrics.
	countsHold, sizesHold time.Duration

	mu              sync.Mutex // serializes collections
	counts          map[schema.GroupResource]int64
	sizes           []int64
	counted, sizeAt time.Time
}

// collectTimeout bounds all requests of a collection to the store.
const collectTimeout = 2 * time.Second

// cacheMetric is a metric of each resource with a cache.
type cacheMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(cache.Stats) float64
}

func newCacheMetric(name, help string, kind prometheus.ValueType, value func(cache.Stats) float64) cacheMetric {
	return cacheMetric{prometheus.NewDesc(name, help, []string{"group", "resource"}, nil), kind, value}
}

var (
	resourceObjects = prometheus.NewDesc("apiserver_resource_objects", "Objects that are stored, by resource.",
		[]string{"group", "resource"}, nil)
	storageObjects = prometheus.NewDesc("apiserver_storage_objects",
		"Objects that are stored, by resource and group in one label.", []string{"resource"}, nil)
	storageSize = prometheus.NewDesc("apiserver_storage_size_bytes",
		"Bytes of the database: etcd's file, or the tables and indexes of PostgreSQL.",
		[]string{"storage_cluster_id"}, nil)
	// ofCache distinguishes the lists of caches from those of storage, which generic/storage/observed counts.
	ofCache    = prometheus.Labels{"storage": "watchcache"}
	cacheLists = prometheus.NewDesc("apiserver_storage_list_total", observed.ListsHelp,
		[]string{"group", "resource", "index"}, ofCache)

	consistentReads = prometheus.NewDesc("apiserver_watch_cache_consistent_read_total",
		"Consistent reads, of the cache or, where that did not become as new in time, of the store (fallback).",
		[]string{"group", "resource", "success", "fallback"}, nil)
	readWaits = prometheus.NewDesc("apiserver_watch_cache_read_wait_seconds",
		"Seconds that reads waited until the cache was as new as they asked for.", []string{"group", "resource"}, nil)

	fillTimes = prometheus.NewDesc("apiserver_watch_cache_initialization_duration_seconds",
		"Seconds from the start of a fill of the cache until it was filled.", []string{"group", "resource"}, nil)
	listsReturned = prometheus.NewDesc("apiserver_storage_list_returned_objects_total",
		observed.ReturnedHelp, []string{"group", "resource"}, ofCache)

	cacheMetrics = []cacheMetric{
		newCacheMetric("apiserver_watch_cache_events_received_total", "Events that the cache has received.",
			prometheus.CounterValue,
			func(s cache.Stats) float64 { return float64(s.Events) }),
		newCacheMetric("apiserver_watch_cache_events_dispatched_total",
			"Events that the cache has handed to watches, if any wait for them.", prometheus.CounterValue,
			func(s cache.Stats) float64 { return float64(s.Events) }),
		newCacheMetric("apiserver_init_events_total", "Events that watches began with.", prometheus.CounterValue,
			func(s cache.Stats) float64 { return float64(s.Initial) }),
		newCacheMetric("apiserver_storage_events_received_total", "Events that the store has sent.", prometheus.CounterValue,
			func(s cache.Stats) float64 { return float64(s.Events) }),
		newCacheMetric("apiserver_watch_cache_initializations_total", "Times that the cache was filled.",
			prometheus.CounterValue,
			func(s cache.Stats) float64 { return float64(s.Fills) }),
		newCacheMetric("apiserver_watch_cache_resource_version", "Revision of the latest event.", prometheus.GaugeValue,
			func(s cache.Stats) float64 { return float64(s.Revision) }),
		newCacheMetric("watch_cache_capacity", "Events that the history has room for.", prometheus.GaugeValue,
			func(s cache.Stats) float64 { return float64(s.Capacity) }),
	}
)

// Describe implements prometheus.Collector.
func (m *storageMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{resourceObjects, storageObjects, storageSize, cacheLists, listsReturned,
		consistentReads, readWaits, fillTimes} {
		ch <- d
	}
	for _, c := range cacheMetrics {
		ch <- c.desc
	}
}

// Collect implements prometheus.Collector.
func (m *storageMetrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	caches := m.objects.all()
	m.refresh(ctx, caches)
	for r, c := range caches {
		n, filled := c.Count()
		if !filled {
			var known bool
			if n, known = m.counts[r]; !known {
				continue
			}
		}
		ch <- prometheus.MustNewConstMetric(resourceObjects, prometheus.GaugeValue, float64(n), r.Group, r.Resource)
		ch <- prometheus.MustNewConstMetric(storageObjects, prometheus.GaugeValue, float64(n), r.String())
		collectCache(ch, r, c)
	}
	for i, size := range m.sizes {
		ch <- prometheus.MustNewConstMetric(storageSize, prometheus.GaugeValue, float64(size),
			clusterID(i))
	}
}

func collectCache(ch chan<- prometheus.Metric, r schema.GroupResource, c cacheBelow) {
	known, ok := c.Cache.(interface{ Stats() cache.Stats })
	if !ok {
		return
	}
	stats := known.Stats()
	ch <- prometheus.MustNewConstMetric(cacheLists, prometheus.CounterValue, float64(stats.Lists), r.Group, r.Resource,
		"")
	ch <- prometheus.MustNewConstMetric(listsReturned, prometheus.CounterValue, float64(stats.Listed), r.Group,
		r.Resource)
	ch <- prometheus.MustNewConstMetric(consistentReads, prometheus.CounterValue, float64(stats.Consistent), r.Group,
		r.Resource, "true", "false")
	if stats.Behind > 0 {
		ch <- prometheus.MustNewConstMetric(consistentReads, prometheus.CounterValue, float64(stats.Behind), r.Group,
			r.Resource, "true", "true")
	}
	for desc, d := range map[*prometheus.Desc]*cache.Durations{readWaits: &stats.Waits, fillTimes: &stats.Filling} {
		if n, upTo := d.Histogram(); n > 0 {
			ch <- prometheus.MustNewConstHistogram(desc, n, d.Total.Seconds(), upTo, r.Group, r.Resource)
		}
	}
	for _, c := range cacheMetrics {
		ch <- prometheus.MustNewConstMetric(c.desc, c.kind, c.value(stats), r.Group, r.Resource)
	}
}

// refresh requests missing and expired values from the store. It omits values whose requests fail. Counts have no
// separate series: scrapes would make them for resources that no client requests.
func (m *storageMetrics) refresh(ctx context.Context, caches map[schema.GroupResource]cacheBelow) {
	now := time.Now()
	if m.countsHold > 0 && now.Sub(m.counted) >= m.countsHold {
		m.counted, m.counts = now, map[schema.GroupResource]int64{}
		for r, c := range caches {
			if _, filled := c.Count(); filled {
				continue
			}
			if result, err := c.backend.Range(observed.Sweep(ctx), storage.RangeOptions{Prefix: c.prefix,
				CountOnly: true}); err == nil {
				m.counts[r] = result.Count
			}
		}
	}
	if m.sizesHold > 0 && now.Sub(m.sizeAt) >= m.sizesHold {
		m.sizeAt, m.sizes = now, nil
		for _, c := range m.clusters {
			size, err := c.backend.DatabaseSize(ctx)
			if err != nil {
				return
			}
			m.sizes = append(m.sizes, size)
		}
	}
}

// all returns the current caches.
func (o *objects) all() map[schema.GroupResource]cacheBelow {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return maps.Clone(o.caches)
}
