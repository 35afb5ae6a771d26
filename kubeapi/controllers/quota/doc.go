// Package quota maintains the status of ResourceQuotas: the limits, and the usage by the objects of the namespace.
// Admission adds the usage of new objects. This controller recounts when objects are deleted or use less, and
// periodically.
package quota
