// Package certificates works on CertificateSigningRequests: it approves those of
// kubelets for their client certificates, signs approved ones with the cluster's
// authority for the signers kubernetes.io/kube-apiserver-client,
// kube-apiserver-client-kubelet, kubelet-serving and legacy-unknown, and deletes
// those that are done with. What signers want of a request is in the documentation
// of the certificates API.
package certificates
