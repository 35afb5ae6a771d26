// Package legacytoken deletes unused Secrets with service account tokens that Kubernetes before 1.24 created
// automatically. It marks them invalid first, and deletes them if they remain unused (KEP-2799).
package legacytoken
