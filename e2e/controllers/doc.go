// Package controllers tests what the controllers of the built server do for users.
package controllers
