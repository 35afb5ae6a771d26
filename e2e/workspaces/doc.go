// Package workspaces tests API servers of tenants in one server, with real clients.
package workspaces
