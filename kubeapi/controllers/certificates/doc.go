// Package certificates has the controllers of CertificateSigningRequests: one approves kubelets'
// requests for client certificates, one signs approved requests with the cluster's
// authority for the signers kubernetes.io/kube-apiserver-client,
// kube-apiserver-client-kubelet, kubelet-serving and legacy-unknown, and one deletes
// old requests. The documentation of the certificates API has what each signer requires of a request.
package certificates
