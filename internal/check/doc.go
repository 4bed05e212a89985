// Package check holds the findings of `sheetclaim check`: how they are listed and
// printed, and those that need no more than the configuration and some figures to be
// judged. It connects to nothing; the command does that.
package check
