// Package eventratelimit has the admission plugin EventRateLimit: token buckets for events of a server, a namespace, a
// user, or a source and object. Plugin is the type to read first.
package eventratelimit
