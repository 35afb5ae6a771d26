// Package ttl deletes finished Jobs when their ttlSecondsAfterFinished has expired.
package ttl
