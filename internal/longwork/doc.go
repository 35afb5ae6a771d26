// Package longwork reports the progress of long work every few seconds. It reports nothing for work that ends
// earlier.
package longwork
