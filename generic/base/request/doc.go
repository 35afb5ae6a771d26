// Package request has the state of a request that all layers share: the user, the parsed path, the deadline,
// and the warnings for the response.
//
// The filter chain stores all of it in one State, which is also the request's context. A request thus needs one
// allocation instead of one context for each value. Code behind the chain uses the functions of this package
// (InfoFrom, UserFrom, AddWarning) and does not depend on State. WithInfo and WithUser override values for a
// derived context.
package request
