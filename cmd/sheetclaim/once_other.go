//go:build !unix

package main

import "os"

// passedOn are the signals that once passes on to its command.
func passedOn() []os.Signal { return []os.Signal{os.Interrupt} }

// fromKeyboard reports whether a signal came from the terminal, which sends it to the
// command as well.
func fromKeyboard(os.Signal) bool { return true }
