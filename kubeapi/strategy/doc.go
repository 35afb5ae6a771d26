// Package strategy holds what the create and update strategies of most kinds do
// alike: counting generations, keeping the metadata that a subresource leaves
// alone, and naming the fields that an endpoint resets.
package strategy
