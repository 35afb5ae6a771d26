// Package attacks tries to break into, starve or blind the built binary, over the
// network and with what an attacker can have: no credentials, or those of a user
// with few rights. Each test is one attack, and its comment says what the attacker
// would gain if it were not refused.
package attacks
