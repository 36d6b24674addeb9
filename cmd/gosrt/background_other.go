//go:build !unix

package main

// failBackgroundReads has nothing to do here.
func failBackgroundReads() {}
