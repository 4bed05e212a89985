// Package dashboard is the page of the service: what happened, what waits for a person,
// what will happen next. Everything is rendered here, with styles and one script of its
// own and nothing from other hosts; without the script it shows the same and reloads.
// What stands in a sheet's cells is hostile, and leaves here escaped.
package dashboard
