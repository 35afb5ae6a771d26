// Package encryption is encryption at rest: values of chosen resources are
// encrypted on their way into etcd and decrypted on their way out, as an
// EncryptionConfiguration says (apiserver.config.k8s.io/v1), in the formats of
// kube-apiserver, so that either server opens what the other one stored.
//
//	--encryption-provider-config FILE           the configuration
//	--encryption-provider-config-automatic-reload
//	                                            use changes of the file while serving
//
// The first entry of the configuration that names a resource, itself or by a
// wildcard (*.GROUP, "*." for the core group, *.*), lists its providers. The first
// of them writes; all are tried, by the prefix of what is stored, to read.
// Records of the server itself (leases of replicas, allocated ports) are written as they
// are, and read with all providers, since older releases encrypted them.
//
//	identity    the value as it is; refuses what begins with k8s:enc:
//	aesgcm      k8s:enc:aesgcm:v1:KEY:     nonce (12), AES-GCM; authenticates the key in etcd
//	aescbc      k8s:enc:aescbc:v1:KEY:     IV (16), AES-CBC with PKCS #7 padding
//	secretbox   k8s:enc:secretbox:v1:KEY:  nonce (24), XSalsa20 and Poly1305
//	kms (v2)    k8s:enc:kms:v2:NAME:       an EncryptedObject in protobuf (KEP-3299)
//	kms (v1)    k8s:enc:kms:v1:NAME:       length (2) and encrypted key, AES-GCM; off unless the gate KMSv1 is on
//
// KMS v2 asks a plugin on a unix socket to encrypt a seed, once, and again when the
// plugin's key changes, about which it is asked every minute. Each value is
// encrypted with AES-GCM under a key that HKDF derives from the seed and 32 random
// bytes, which precede nonce and value; AAD is the key in etcd. What is stored
// carries the encrypted seed, the plugin's key id and its annotations, so that any
// replica can have the seed decrypted, which it keeps for an hour. KMS v1 asks its plugin about
// each value, whose key it encrypts.
//
// A value that was written by anything but today's first provider and key is
// stale: an update writes it anew even if it changes nothing, so that
//
//	kubectl get secrets -A -o json | kubectl replace -f -
//
// moves all of them to a new key. To rotate a key, add it as the second one on all
// replicas, then make it the first one, rewrite, and take the old one away.
//
// # Where it sits
//
// A View is a storage.Backend of one resource. The registry writes through it, and
// the resource's cache is filled through it and has the changes of the shared watch
// decoded by it: caches, histories and answers hold plain values. With no
// configuration values pass by as they are; no byte is copied. What cannot be
// decrypted is a *storage.TransformError: reading the object fails, and so do lists
// of its resource and new watches, until the configuration can read it.
//
// # Health and metrics
//
// Checks has kms-providers for all plugins. Metrics are apiserver_storage_transformation_*,
// apiserver_envelope_encryption_* and apiserver_encryption_config_controller_*.
package encryption
