// Package openapi answers /openapi/v2 and /openapi/v3.
//
// A Service belongs to one process's chain of servers. Each server registers where
// documents come from: its go-restful routes (AddWebServices), or a Source of its
// own for paths that come and go, like those of custom resources and of external
// API servers (Set, Remove). No document is built before a client asks for it;
// then its compressed JSON is kept, with its hash, until its Source changes.
//
// A Builder makes documents of routes and of the models of the built-in kinds
// (package models) with kube-openapi.
package openapi
