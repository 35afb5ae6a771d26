// Package show has constructors for the columns of the tables that kubectl prints: of a field, of a function's result,
// or of text that Show.Cells returns. A description that begins with a dot is the path of the field that documents the
// column (kind.Column).
package show
