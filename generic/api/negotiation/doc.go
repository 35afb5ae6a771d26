// Package negotiation decides in which form an answer travels and how a body is
// to be read: media type, stream, table or metadata transformation, pretty
// printing, compression. Its rules are those of kube-apiserver: clauses of Accept are tried
// by their weight, the first that the server can serve wins, and parameters that
// ask for something unknown rule a clause out.
package negotiation
