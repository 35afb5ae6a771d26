// Package handlers answers the API verbs of one resource: a constructor a verb,
// each of which joins a RequestScope (what the resource is called, how its
// objects travel, who validates them) with the rest interface that does the work,
// into an http.HandlerFunc.
//
// The handlers need nothing but net/http and the request.Info in the context,
// so that a CRD server can call them for kinds that come and go, without routes.
// They put the namespace of the path into the context for the storage.
//
// A read answers with the bytes that the storage holds (rest.Stored) where the
// client asked for the object itself; only tables, metadata and odd media types
// decode (package responsewriters). A write decodes the body once, in the served version, converts it to
// the hub version, runs managed fields and admission as part of the storage's
// update, and encodes the result in the served version.
package handlers
