// Package follow keeps a component up to date with the records of a cache.
//
// A Follower passes the records that exist to its Handler, and then every change, in order. It opens another watch
// when one ends, so its handler never misses a state. It has a goroutine only while there are events: a server with
// many idle followers costs memory for their watches and nothing else.
//
// A Source is a cache with the decoding of its records.
package follow
