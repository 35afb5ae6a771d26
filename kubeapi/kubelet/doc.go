// Package kubelet reaches the kubelets of nodes: it finds a kubelet's address in
// its Node and has a transport that shows the server's client certificate.
//
// Two transports are made once a server: one that verifies kubelets as configured,
// and one that verifies none, for logs that are asked for with
// insecureSkipTLSVerifyBackend.
package kubelet
