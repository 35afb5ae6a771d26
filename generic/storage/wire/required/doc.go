// Package required determines whether a stored protobuf message lacks something that reading it as a Go struct would
// fill in. A message that lacks nothing is read without being decoded: its bytes are what the client gets.
package required
