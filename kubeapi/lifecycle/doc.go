// Package lifecycle declares the kinds of lifecycle.k8s.io: EvictionRequest, with which a component requests that a pod
// ends in an orderly way, and Eviction, which a controller creates for the requests and in which responders report.
//
// The specification names the pod and is fixed, apart from the intent of a request. Both are served with the feature
// gate EvictionRequestAPI.
package lifecycle
