// Package podsecurity has the admission plugin PodSecurity: the levels that the labels of namespaces require of pods,
// evaluated by k8s.io/pod-security-admission. Plugin is the type to read first.
package podsecurity
