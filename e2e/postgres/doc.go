// Package postgres tests servers that store their objects in PostgreSQL instead of etcd.
package postgres
