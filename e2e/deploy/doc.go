// Package deploy starts and applies what the folder deploy/ has, and command lines that others
// start kube-apiserver with.
package deploy
