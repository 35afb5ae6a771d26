// Package quantity refuses quantities whose digits nobody means and everybody pays for: resource.Quantity
// reads, compares and adds 1e-999999999 with as many digits, and takes the square of the time for a number
// that is written with a million of them, which is longer than any request may last.
//
// Parse is for texts. Check is for documents before they are decoded, since a quantity may be read at once;
// a document may well hold such a text where it is none, as a label.
package quantity
