// Package rootca publishes the CA of the server's certificate in each namespace, in the config map
// kube-root-ca.crt, which token volumes of pods include.
package rootca
