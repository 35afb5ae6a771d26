// Package encryption implements encryption at rest. Values of selected resources are encrypted before they are
// written to etcd and decrypted after they are read, as an EncryptionConfiguration (apiserver.config.k8s.io/v1)
// defines. The formats are those of kube-apiserver, so that both can decrypt each other's values.
//
//	--encryption-provider-config FILE           the configuration
//	--encryption-provider-config-automatic-reload
//	                                            use changes of the file while serving
//
// The first entry of the configuration that matches a resource, by name or wildcard (*.GROUP, "*." for the core
// group, *.*), has its providers. The first provider encrypts. To decrypt, the providers with the prefix of
// the stored value are tried. The server's internal records (leases of replicas, allocated ports) are never
// encrypted, but can be decrypted, because older releases encrypted them.
//
//	identity    the value without encryption; rejects values that begin with k8s:enc:
//	aesgcm      k8s:enc:aesgcm:v1:KEY:     nonce (12), AES-GCM; authenticates the key in etcd
//	aescbc      k8s:enc:aescbc:v1:KEY:     IV (16), AES-CBC with PKCS #7 padding
//	secretbox   k8s:enc:secretbox:v1:KEY:  nonce (24), XSalsa20 and Poly1305
//	kms (v2)    k8s:enc:kms:v2:NAME:       an EncryptedObject in protobuf (KEP-3299)
//	kms (v1)    k8s:enc:kms:v1:NAME:       length (2) and encrypted key, AES-GCM; off unless the gate KMSv1 is on
//
// KMS v2: the plugin, on a Unix socket, encrypts a seed once, and another one when the plugin's key changes.
// The server polls the plugin's key every minute. Each value is encrypted with AES-GCM, with a key that HKDF
// derives from the seed and 32 random bytes. These precede nonce and value. The additional data is the key in
// etcd. The stored value contains the encrypted seed, the plugin's key ID and its annotations, so that any
// replica can decrypt the seed, which it caches for an hour.
//
// KMS v1: each value has a data key, which the plugin encrypts.
//
// A value is stale if it was not written with the current first provider and key. An update rewrites a stale
// value even if nothing changes, so that
//
//	kubectl get secrets -A -o json | kubectl replace -f -
//
// migrates all secrets to a new key. To rotate a key, add it as the second one on all replicas, make it the
// first one, rewrite all objects, and remove the old one.
//
// # Place in the storage stack
//
// A View is a storage.Backend for one resource. The registry writes through it. The resource's cache is filled
// through it, and decrypts changes of the shared watch with it. Caches, histories and responses therefore
// contain decrypted values. Without a configuration values are passed on without a copy. A value that cannot be
// decrypted is a *storage.TransformError. Until the configuration can decrypt it, reads of the object, lists of
// its resource and new watches fail.
//
// # Health and metrics
//
// Checks returns the health check kms-providers for all plugins. Metrics are
// apiserver_storage_transformation_*, apiserver_envelope_encryption_* and
// apiserver_encryption_config_controller_*.
package encryption
