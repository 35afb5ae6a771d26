// Package quota keeps what is used of ResourceQuotas: their status says how much is
// allowed, and how much the objects of the namespace take. Admission adds what is
// created; this controller counts again when objects go, or need less, and from
// time to time.
package quota
