// Package rootca publishes the authority of the server's certificate in each
// namespace, in the config map kube-root-ca.crt that the token volumes of pods hold.
package rootca
