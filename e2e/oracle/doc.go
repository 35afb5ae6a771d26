// Package oracle knows what a server must answer after it was killed, cut off or starved: what it
// has acknowledged (Writes), and what its watches must have reported (History).
package oracle
