// Package registry stores API objects: a Store serves the verbs of package rest for
// the declaration of a resource, a kind.Kind.
//
//	store, err := registry.NewStore(kind, scheme, options)
//	resources := store.Resources(gv) // "deployments", "deployments/status", "deployments/scale"
//
// There is one Store for each etcd prefix, whatever the number of versions and
// groups that serve it: the wire forms that it keeps with the records are
// numbered by its versions. (A second Store over the same prefix has to declare
// the same hub and lead its versions with the same ones.) Read Store first.
//
// # Writing
//
// A write is optimistic. It starts from what the cache holds, which may be
// behind, and computes the new object: the client's change, then what the endpoint
// preserves, the kind's Prepare function and the generation, validation, and the
// decision of admission. The value is
// written if the key is still at the revision that it was computed from;
// otherwise all starts again from what is there. An error that follows from a
// stale state is never returned: the state is read from the backend first.
//
//	Create: system metadata → namespace → Prepare → metadata → Begin → Validate → admission → write
//	Update: preconditions → UpdatedObject → version → Prepare → metadata → Begin → Validate → admission → write
//	Delete: options, preconditions → grace period → admission → finalizers → mark, or remove
//
// An update that changes nothing writes nothing. One that takes the last
// finalizer off a terminating object removes it.
//
// # Reading
//
// Reads hand out records as rest.Stored: bytes that become wire forms when
// they are requested, at most once a revision. Stored protobuf becomes the protobuf
// answer by setting the resource version in its bytes; labels and names are read
// out of them, too, without decoding the object. What has just been written is
// handed to the cache together with the bytes that the writer was answered.
//
// Objects in Go form belong to the Store when they go in, and to the caller when
// they come out.
package registry
