//go:build !linux

package main

// networkFS is not known on this system.
func networkFS(string) string { return "" }
