// Package backend has the backends of audit events. Log writes lines to a file, Webhook posts lists to a
// service. Batch, Truncate and IgnoreErrors wrap another backend: they buffer events, limit their size, and
// hide failures from requests. Union sends events to several backends.
package backend
