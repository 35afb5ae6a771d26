// Package token fills the Secrets of type kubernetes.io/service-account-token that users create with a token of
// their service account, and deletes them with the account.
package token
