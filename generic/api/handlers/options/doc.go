// Package options decodes and validates the options of requests: those of meta.k8s.io (Read, Decode), and those of
// subresources, such as PodLogOptions (DecodeSubresource).
//
// Unknown parameters are ignored. Errors are Statuses with the messages of kube-apiserver.
package options
