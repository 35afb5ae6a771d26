// Package ttl deletes Jobs that have finished when their ttlSecondsAfterFinished is
// over.
package ttl
