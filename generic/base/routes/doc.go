// Package routes declares what serves the paths of an API: a Service has the routes below a root path, in sets that are
// made when a request or a document first needs one. A server with hundreds of resources has the routes of those that
// are used. Package mux finds them; go-restful decides the status of requests that no route matches, and its types
// describe routes for OpenAPI.
package routes
