// Package api is the HTTP service: it starts runs, tells what became of them, lists
// the jobs, shows what they would send, and takes a person's word on messages that
// wait. openapi.yaml beside this file is the truth about requests and answers; the
// tests hold the server to it.
//
// Rules that every handler keeps:
//
//   - A run goes on whatever becomes of the connection that asked for it.
//   - What is refused is a problem document (RFC 9457) with a code that programs can
//     rely on, a sentence for people, and nothing of the inside; problem.go has all
//     codes.
//   - No body has a top-level member "error": n8n takes one for a failure of the
//     node, also under a 2xx, and sends the request again.
//   - A route is closed to callers without a token unless the table in server.go
//     says that it is open.
//   - Tokens and bodies are never logged.
//
// The package knows the method (internal/claim) and nothing else of ours: the
// program translates its configuration into Config.
package api
