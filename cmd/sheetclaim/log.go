package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/sheetclaim/sheetclaim/internal/alert"
	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// newLogger logs for people or for machines. Secrets, addresses and message bodies
// are never logged. Those who log see to that; what mail servers and Google say in
// their own words goes through concealAttr in addition.
func newLogger(w io.Writer, format, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: l, ReplaceAttr: concealAttr}
	if format == "json" {
		return slog.New(runLines{Handler: slog.NewJSONHandler(w, opts)})
	}
	return slog.New(runLines{Handler: slog.NewTextHandler(w, opts)})
}

// concealAttr hides addresses in the texts and errors of a line, also where a key is
// one. A Message-ID names nobody, and people have to look for it; the paths of a stack
// hold module@version.
func concealAttr(_ []string, a slog.Attr) slog.Attr {
	if a.Key == "message_id" || a.Key == "stack" {
		return a
	}
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(alert.Conceal(v))
	case error:
		a.Value = slog.StringValue(alert.Conceal(v.Error()))
	}
	return a
}

// runLines names job and run on the lines of the Sheets client and the mailer, which
// know neither.
type runLines struct {
	slog.Handler
	named bool // the logger names them itself
}

// Handle implements slog.Handler.
func (h runLines) Handle(ctx context.Context, r slog.Record) error {
	if run, ok := claim.RunOf(ctx); ok && !h.named {
		r.AddAttrs(slog.String("job", run.Job), slog.String("run", run.ID))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h runLines) WithAttrs(attrs []slog.Attr) slog.Handler {
	named := h.named
	for _, a := range attrs {
		named = named || a.Key == "run"
	}
	return runLines{h.Handler.WithAttrs(attrs), named}
}

// WithGroup implements slog.Handler.
func (h runLines) WithGroup(name string) slog.Handler {
	return runLines{h.Handler.WithGroup(name), h.named}
}
