// Package clusterinfo lets an extension API server trust the same client certificates and front proxies as the
// core API server. It follows the ConfigMap extension-apiserver-authentication of kube-system. There the core
// API server publishes the certificate authorities, and the headers in which front proxies send the user.
//
// Reading the ConfigMap requires the role extension-apiserver-authentication-reader in kube-system.
package clusterinfo
