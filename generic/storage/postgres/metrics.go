package postgres

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// Collectors returns the metrics of the connections, of the transactions of writes, and of polls.
func (b *Backend) Collectors() []prometheus.Collector {
	counter := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value)
	}
	gauge := func(name, help string, value func(*pgxpool.Stat) int32) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(value(b.pool.Stat())) })
	}
	return []prometheus.Collector{
		gauge("triplane_postgres_connections", "Open connections of the pool. One more receives notifications.",
			(*pgxpool.Stat).TotalConns),
		gauge("triplane_postgres_connections_in_use", "Connections of the pool that execute a statement.",
			(*pgxpool.Stat).AcquiredConns),
		gauge("triplane_postgres_connections_limit", "Maximum size of the pool (pool_max_conns).",
			(*pgxpool.Stat).MaxConns),
		counter("triplane_postgres_connections_opened_total", "Connections that the pool has opened.",
			func() float64 { return float64(b.pool.Stat().NewConnsCount()) }),
		counter("triplane_postgres_connection_wait_seconds_total", "Seconds that statements waited for a connection.",
			func() float64 { return b.pool.Stat().EmptyAcquireWaitTime().Seconds() }),
		counter("triplane_postgres_write_transactions_total", "Transactions that wrote to PostgreSQL.",
			func() float64 { return float64(b.writer.batches.transactions.Load()) }),
		counter("triplane_postgres_writes_total", "Writes in these transactions, including those with a conflict.",
			func() float64 { return float64(b.writer.batches.writes.Load()) }),
		counter("triplane_postgres_polls_total", "Reads of the changes since the last one.",
			func() float64 { return float64(b.poller.polls.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "triplane_postgres_notified",
			Help: "1 if PostgreSQL notifies of writes, 0 if they are found by polling."}, func() float64 {
			if b.poller.listening.Load() {
				return 1
			}
			return 0
		}),
	}
}
