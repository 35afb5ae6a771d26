// Package deploy starts and applies what the folder deploy/ has, and command lines that others
// start kube-apiserver with. Helm installs the chart, and others. It is part of make test-others, since Helm takes a
// minute to compile.
package deploy
