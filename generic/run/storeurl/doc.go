// Package storeurl has the URLs of stores: the servers of an etcd cluster, or a PostgreSQL database. A flag's value is
// URLs, and Open chooses the backend.
package storeurl
