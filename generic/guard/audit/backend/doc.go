// Package backend has the backends of audit events: Log writes lines to a file,
// Webhook posts lists to a service, and three wrap others: Batch lets requests
// go on while events wait, Truncate cuts events to a size, IgnoreErrors hides
// failures from requests. Union sends events to several.
package backend
