// Package quantity rejects quantities with excessive digits. resource.Quantity expands 1e-999999999 to that many
// digits, and parses long numbers in quadratic time. A million digits take longer than any request timeout.
//
// Parse is for texts. Check is for documents before they are decoded, because decoding parses quantities. It
// allows such texts in other fields, for example in labels.
package quantity
