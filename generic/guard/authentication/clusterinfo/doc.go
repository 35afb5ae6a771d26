// Package clusterinfo lets an extension API server trust the client certificates and front proxies
// that the core API server trusts: it follows the config map extension-apiserver-authentication of
// kube-system, in which that server publishes their authorities, and the headers in which front proxies
// name the user.
//
// Reading it takes the role extension-apiserver-authentication-reader in kube-system.
package clusterinfo
