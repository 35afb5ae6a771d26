// Package apigroups makes API groups of declared kinds whose Go types no generated code registers. New fills the scheme
// and the models of OpenAPI from the declarations, Install creates the stores and serves them. Read Group first.
package apigroups
