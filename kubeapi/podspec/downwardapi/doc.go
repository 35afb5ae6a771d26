// Package downwardapi validates references of environment variables and of files in volumes to fields of their pod
// (FieldRef) and to resources of its containers (ResourceFieldRef).
package downwardapi
