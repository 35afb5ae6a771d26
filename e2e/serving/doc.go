// Package serving tests what flags and configuration files change about a server: audit, logs,
// emulated releases, plugins, addresses.
package serving
