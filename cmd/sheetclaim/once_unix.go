//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// passedOn are the signals that once passes on to its command.
func passedOn() []os.Signal {
	return []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT,
	}
}

// fromKeyboard reports whether a signal came from the terminal, which sends it to the
// command as well.
func fromKeyboard(sig os.Signal) bool {
	if sig != syscall.SIGINT && sig != syscall.SIGQUIT && sig != syscall.SIGWINCH {
		return false
	}
	group, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
