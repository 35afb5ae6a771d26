// Package openapi answers /openapi/v2 and /openapi/v3.
//
// A Service belongs to one process's chain of servers. Each server registers where
// documents come from: its routes (AddWebServices), or a Source of its
// own for paths that come and go, like those of custom resources and of external
// API servers (Set, Remove). No document is built before a client asks for it;
// then its compressed JSON is kept, with its hash, until its Source changes.
//
// A document is written by a Draft, built-in and custom kinds alike: paths of tables of
// operations, models as bytes from those of package models or from the schemas of CRDs, compressed as
// they come. No tree of Go structs is made of it, but for documents of other servers
// that are merged. A Builder makes operations of routes, which go-restful's types describe.
package openapi
