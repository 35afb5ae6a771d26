// Package clusterinfo lets an extension API server authenticate as the API server in front of
// it does: it follows the config map extension-apiserver-authentication of kube-system, in which
// that server publishes the authorities of clients and of front proxies, and the headers in
// which these say for whom they ask.
//
// Reading it takes the role extension-apiserver-authentication-reader in kube-system.
package clusterinfo
