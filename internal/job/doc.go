// Package job says what a job is: it reads the configuration file, and fits a job's
// columns, condition and message to the header of a sheet.
//
// Start with config.go, which mirrors the file. load.go reads one and reports every
// problem at its place, verify.go and verify_job.go hold the rules. bind.go turns a
// job into the claim.Job that the method runs: header.go matches headers, where.go
// evaluates the condition, and placeholder.go, lint.go, template.go and message.go
// make the message.
//
// The package reads files only while it loads a configuration, and no clock at all.
package job
