// Package externaltest has an external signer of service account tokens for tests.
package externaltest
