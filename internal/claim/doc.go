// Package claim is the method: it carries due rows of a sheet to one mail each,
// at most once, and says so where nobody can know.
//
// Read protocol.go first; it is the list of steps. state.go says how far a claim
// can have got, outcome.go what can have become of a message, doubt.go what the
// method refuses to guess, recover.go what a later run does with the claims of a
// run that died, and ports.go what the method needs from the world.
//
// The package imports the standard library only. Time, waiting and randomness
// come in through the fields of Worker.
package claim
