package encryption

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/status"
)

const (
	fromStorage = "from_storage"
	toStorage   = "to_storage"

	// maxKeyIDs limits the key IDs in metrics for each provider, because plugins can return any number.
	maxKeyIDs = 10
)

// Metrics has kube-apiserver's metrics of encryption at rest.
type Metrics struct {
	server string // hash of the server's identity

	operations  *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	calls       *prometheus.HistogramVec
	sources     *prometheus.GaugeVec
	keyIDs      *prometheus.CounterVec
	keyIDLast   *prometheus.GaugeVec
	keyIDStatus *prometheus.GaugeVec
	keyIDBad    *prometheus.CounterVec
	misses      prometheus.Counter
	filled      prometheus.Gauge
	seeds       prometheus.Histogram
	seedsFailed prometheus.Counter
	arrivals    *prometheus.HistogramVec
	reloads     *prometheus.CounterVec
	reloadLast  *prometheus.GaugeVec
	config      *prometheus.GaugeVec

	mu     sync.Mutex
	hashes map[string]*keyHashes // by provider
	last   map[string]time.Time  // use of a key, by direction
}

// keyHashes are the key IDs of a provider in metrics, oldest first.
type keyHashes struct {
	ids   []string
	known map[string]string
}

func newMetrics(serverID string) *Metrics {
	buckets := prometheus.ExponentialBuckets(0.0001, 2, 20)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_" + name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "apiserver_" + name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "apiserver_" + name, Help: help, Buckets: buckets},
			labels)
	}
	return &Metrics{
		server: hash(serverID),
		hashes: map[string]*keyHashes{},
		last:   map[string]time.Time{},
		operations: counter("storage_transformation_operations_total", "Total number of transformations.",
			"resource", "transformation_type", "transformer_prefix", "status"),
		durations: histogram("storage_transformation_duration_seconds",
			"Latencies in seconds of value transformation operations.",
			prometheus.ExponentialBuckets(5e-6, 2, 25), "transformation_type", "transformer_prefix"),
		calls: histogram("envelope_encryption_kms_operations_latency_seconds",
			"KMS operation duration with gRPC error code status total.",
			buckets, "provider_name", "method_name", "grpc_status_code"),
		sources: gauge("envelope_encryption_dek_source_cache_size",
			"Number of records in data encryption key (DEK) source cache.", "provider_name"),
		keyIDs: counter("envelope_encryption_key_id_hash_total",
			"Number of times a keyID is used split by transformation type, provider, and apiserver identity.",
			"transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
		keyIDLast: gauge("envelope_encryption_key_id_hash_last_timestamp_seconds",
			"The last time in seconds when a keyID was used.",
			"transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
		keyIDStatus: gauge("envelope_encryption_key_id_hash_status_last_timestamp_seconds",
			"The last time in seconds when a keyID was returned by the Status RPC call.",
			"provider_name", "key_id_hash", "apiserver_id_hash"),
		keyIDBad: counter("envelope_encryption_invalid_key_id_from_status_total",
			"Number of times an invalid keyID is returned by the Status RPC call split by error.",
			"provider_name", "error"),
		misses: prometheus.NewCounter(prometheus.CounterOpts{Name: "apiserver_storage_envelope_transformation_cache_misses_total",
			Help: "Total number of cache misses while accessing key decryption key(KEK)."}),
		filled: prometheus.NewGauge(prometheus.GaugeOpts{Name: "apiserver_envelope_encryption_dek_cache_fill_percent",
			Help: "Percent of the cache slots currently occupied by cached DEKs."}),
		seeds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "apiserver_storage_data_key_generation_duration_seconds", Buckets: prometheus.ExponentialBuckets(5e-6, 2, 14),
			Help: "Latencies in seconds of data encryption key(DEK) generation operations."}),
		seedsFailed: prometheus.NewCounter(prometheus.CounterOpts{Name: "apiserver_storage_data_key_generation_failures_total",
			Help: "Total number of failed data encryption key(DEK) generation operations."}),
		arrivals: histogram("envelope_encryption_dek_cache_inter_arrival_time_seconds",
			"Time (in seconds) of inter arrival of transformation requests.",
			prometheus.ExponentialBuckets(60, 2, 10), "transformation_type"),
		reloads: counter("encryption_config_controller_automatic_reloads_total",
			"Total number of reload successes and failures of encryption configuration split by apiserver identity.",
			"status", "apiserver_id_hash"),
		reloadLast: gauge("encryption_config_controller_automatic_reload_last_timestamp_seconds",
			"Timestamp of the last successful or failed automatic reload of encryption configuration split by apiserver identity.",
			"status", "apiserver_id_hash"),
		config: gauge("encryption_config_controller_last_config_info",
			"Information about the last applied encryption configuration with hash as label, split by apiserver identity.",
			"apiserver_id_hash", "hash"),
	}
}

// Collectors returns the metrics to register.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.operations, m.durations, m.calls, m.sources, m.keyIDs, m.keyIDLast, m.keyIDStatus,
		m.keyIDBad, m.misses, m.filled, m.seeds, m.seedsFailed, m.arrivals, m.reloads, m.reloadLast, m.config}
}

// PerResource returns the vector with series for resources.
func (m *Metrics) PerResource() *prometheus.MetricVec { return m.operations.MetricVec }

// hash returns the label for a value that must not be exposed.
func hash(s string) string {
	if s == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// transformed counts an encryption or decryption of a value.
func (m *Metrics) transformed(resource, direction, prefix string, began time.Time, err error) {
	m.operations.WithLabelValues(resource, direction, prefix, statusOf(err)).Inc()
	m.durations.WithLabelValues(direction, prefix).Observe(time.Since(began).Seconds())
}

func statusOf(err error) string {
	if errors.Is(err, context.Canceled) {
		return "Canceled"
	}
	return status.Code(err).String()
}

// keyHash returns the hash of a key ID. If the provider has too many key IDs, it deletes the series of the
// oldest.
func (m *Metrics) keyHash(provider, keyID string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.hashes[provider]
	if h == nil {
		h = &keyHashes{known: map[string]string{}}
		m.hashes[provider] = h
	}
	if known, ok := h.known[keyID]; ok {
		return known
	}
	if len(h.ids) == maxKeyIDs {
		gone := prometheus.Labels{"provider_name": provider, "key_id_hash": h.known[h.ids[0]]}
		m.keyIDs.DeletePartialMatch(gone)
		m.keyIDLast.DeletePartialMatch(gone)
		m.keyIDStatus.DeletePartialMatch(gone)
		delete(h.known, h.ids[0])
		h.ids = h.ids[1:]
	}
	keyID = strings.Clone(keyID)
	h.ids, h.known[keyID] = append(h.ids, keyID), hash(keyID)
	return h.known[keyID]
}

func (m *Metrics) keyUsed(direction, provider, keyID string) {
	h := m.keyHash(provider, keyID)
	m.arrived(direction)
	m.keyIDs.WithLabelValues(direction, provider, h, m.server).Inc()
	m.keyIDLast.WithLabelValues(direction, provider, h, m.server).SetToCurrentTime()
}

// arrived observes the time since the last transformation.
func (m *Metrics) arrived(direction string) {
	now := time.Now()
	m.mu.Lock()
	before, ok := m.last[direction]
	m.last[direction] = now
	m.mu.Unlock()
	if ok {
		m.arrivals.WithLabelValues(direction).Observe(now.Sub(before).Seconds())
	}
}

// keyStatus records the result of a plugin's status call.
func (m *Metrics) keyStatus(provider, keyID string, err error) {
	switch {
	case err == nil:
		m.keyIDStatus.WithLabelValues(provider, m.keyHash(provider, keyID), m.server).SetToCurrentTime()
	case errors.Is(err, errLongKeyID):
		m.keyIDBad.WithLabelValues(provider, "too_long").Inc()
	case errors.Is(err, errNoKeyID):
		m.keyIDBad.WithLabelValues(provider, "empty").Inc()
	}
}

// reloaded counts a reload of the configuration.
func (m *Metrics) reloaded(err error, configHash string) {
	outcome := "success"
	if err != nil {
		outcome = "failure"
	}
	m.reloads.WithLabelValues(outcome, m.server).Inc()
	m.reloadLast.WithLabelValues(outcome, m.server).SetToCurrentTime()
	if err == nil {
		m.configured(configHash)
	}
}

// configured sets the hash of the current configuration.
func (m *Metrics) configured(configHash string) {
	m.config.Reset()
	m.config.WithLabelValues(m.server, configHash).SetToCurrentTime()
}
