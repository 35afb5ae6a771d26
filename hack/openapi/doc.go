//go:build generate

// Command openapi writes the OpenAPI models of the built-in kinds: JSON, by
// model name, gzipped. See generate.sh.
package main
