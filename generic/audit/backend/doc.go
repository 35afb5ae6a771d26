// Package backend has the sinks of audit events: Log writes lines to a file,
// Webhook posts lists to a service, and three wrap others: Batch lets requests
// go on while events wait, Truncate cuts events to a size, IgnoreErrors hides
// failures from requests. Union sends events to several.
//
// Each is an audit.Sink. Those that hold events or files have a Close as well,
// which is called when no more events come; it stores what waits, as far as its
// context allows, and ends the sink's goroutines.
package backend
