// Package observed has a view of a storage.Backend that measures the requests of one resource:
// etcd_requests_total, etcd_request_errors_total, etcd_request_duration_seconds, and for each write a span and
// a step in the log of slow requests.
package observed
