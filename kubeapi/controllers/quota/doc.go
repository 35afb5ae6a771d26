// Package quota keeps the status of ResourceQuotas: what is allowed, and what the objects of
// the namespace use. Admission adds the use of new objects; this controller counts again when
// objects are deleted or need less, and every few minutes.
package quota
