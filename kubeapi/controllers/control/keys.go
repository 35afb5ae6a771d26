package control

import "sync"

// Keys is a set of objects. The zero value is an empty set. It is safe for concurrent use.
type Keys struct {
	mu    sync.Mutex
	names map[string]map[string]bool // by namespace
}

// Set adds an object to the set, or removes it.
func (k *Keys) Set(key Key, in bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := k.names[key.Namespace]
	switch {
	case in && names == nil:
		if k.names == nil {
			k.names = map[string]map[string]bool{}
		}
		k.names[key.Namespace] = map[string]bool{key.Name: true}
	case in:
		names[key.Name] = true
	default:
		if delete(names, key.Name); len(names) == 0 {
			delete(k.names, key.Namespace)
		}
	}
}

// Has reports whether an object is in the set.
func (k *Keys) Has(key Key) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.names[key.Namespace][key.Name]
}

// Of returns the objects of a namespace; "" for cluster-scoped ones.
func (k *Keys) Of(namespace string) []Key {
	k.mu.Lock()
	defer k.mu.Unlock()
	keys := make([]Key, 0, len(k.names[namespace]))
	for name := range k.names[namespace] {
		keys = append(keys, Key{namespace, name})
	}
	return keys
}
