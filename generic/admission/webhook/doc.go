// Package webhook asks remote services about operations, as webhook
// configurations say: validating ones judge, side by side, mutating ones change
// the object, one after the other.
//
// Configurations are compiled when they change and then only read: a request
// loads one pointer, and one that no webhook is about pays for comparing rules
// and nothing else.
package webhook
