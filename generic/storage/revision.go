package storage

import "strconv"

// FormatRevision returns a revision as the resource version of the API.
func FormatRevision(revision int64) string { return strconv.FormatInt(revision, 10) }
