// Package quantity refuses quantities whose exponents nobody means and everybody pays for: resource.Quantity
// reads, compares and adds 1e-999999999 with as many digits, which takes longer than any request may last.
//
// Parse is for texts. Check is for documents before they are decoded, since a quantity may be read at once;
// a document may well hold such a text where it is none, as a label.
package quantity
