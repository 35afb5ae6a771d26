// Package noderestriction is the admission plugin NodeRestriction. New creates it; a file for each resource whose rules
// take more than a few lines.
package noderestriction
