// Package show helps kinds to describe the tables that kubectl prints: the
// columns with the descriptions of the API's own documentation, and cells such
// as ages, containers and selectors in kubectl's wording.
package show
