// Package v1beta1 is version v1beta1 of the API group wardle.example.com.
package v1beta1
