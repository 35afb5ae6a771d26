// Package certificates has the controllers of CertificateSigningRequests:
//
//   - The approver approves kubelets' requests for client certificates.
//   - The signer signs approved requests with the cluster's CA, for the signers
//     kubernetes.io/kube-apiserver-client, kube-apiserver-client-kubelet, kubelet-serving and legacy-unknown.
//   - The cleaner deletes old requests.
//
// The documentation of the certificates API defines the requirements of each signer.
package certificates
