// Package observed is a view of a storage.Backend that measures what one resource asks
// of it: etcd_requests_total, etcd_request_errors_total, etcd_request_duration_seconds,
// and a span and a step in the log of slow requests for each write.
package observed
