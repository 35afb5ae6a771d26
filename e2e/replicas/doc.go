// Package replicas tests several servers on one store.
package replicas
