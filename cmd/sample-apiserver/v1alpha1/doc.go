// Package v1alpha1 is version v1alpha1 of the API group wardle.example.com.
package v1alpha1
