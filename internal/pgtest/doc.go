// Package pgtest gives tests a real Postgres: the server that
// SHEETCLAIM_TEST_POSTGRES names, or one of their own that is started in a temporary
// folder and stopped when the test binary ends. Each test gets a schema of its own.
//
// A test skips where Postgres is not installed, and fails there when CI is set.
package pgtest
