// Package responsewriters encodes the responses about one resource in the negotiated form: objects, lists, tables,
// metadata, the events of watches, streams and errors as a Status.
//
// Objects and lists that storage returned as bytes (rest.Stored) are written without decoding. Only tables and
// metadata decode, unless storage provides the rows itself.
//
// Read Response first. WriteError and WriteObject serve endpoints that have no resource.
package responsewriters
