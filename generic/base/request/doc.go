// Package request is what travels with a request through the rooms: who makes
// it, what its path says, how long it may take, and the warnings collected for
// its answer.
//
// The filter chain keeps all of it in one State, which is itself the request's
// context, so that a request pays for one allocation and not for a context a
// fact. Everybody behind the chain uses the functions of this package
// (InfoFrom, UserFrom, AddWarning) and need not know of State; WithInfo and
// WithUser override for what is below them.
package request
