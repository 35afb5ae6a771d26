// Package kubelet reaches the kubelets of nodes: it finds a kubelet's address in
// its Node and has a transport that shows the server's client certificate.
//
// There are two transports: one that verifies kubelets as configured, and one that
// verifies none, for logs that are asked for with insecureSkipTLSVerifyBackend. When the
// files of the client certificate change, the next request replaces both.
package kubelet
