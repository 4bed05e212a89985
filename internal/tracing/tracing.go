// Package tracing sends spans to an OpenTelemetry collector: one for each run, and
// within it one for each step of the method, request to the Sheets API and mail
// transaction. It is used only where the environment names a collector. Spans hold
// no keys, addresses or texts of replies.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sheetclaim/sheetclaim/internal/claim"
)

// Endpoint answers the URL to which the environment has traces sent; "": nowhere.
// The variables are those of the OpenTelemetry specification, "OTLP exporter" and
// "General SDK configuration"; the exporter itself reads those for headers,
// certificates and compression.
func Endpoint(env func(name string) (string, bool)) string {
	get := func(name string) string {
		value, _ := env(name)
		return strings.TrimSpace(value)
	}
	if strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") || get("OTEL_TRACES_EXPORTER") == "none" {
		return ""
	}
	if url := get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); url != "" {
		return url
	}
	if url := get("OTEL_EXPORTER_OTLP_ENDPOINT"); url != "" {
		return strings.TrimSuffix(url, "/") + "/v1/traces"
	}
	return ""
}

// Tracing makes spans. It is a claim.Tracer.
type Tracing struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	log      *slog.Logger
}

var _ claim.Tracer = (*Tracing)(nil)

// New sends spans to an endpoint, by OTLP over HTTP, in the background. What cannot
// be sent is logged and lost.
func New(ctx context.Context, endpoint, version string, log *slog.Logger) (*Tracing, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("traces cannot be sent to %s: %w", endpoint, err)
	}
	about, err := resource.Merge(
		resource.NewSchemaless(attribute.String("service.name", "sheetclaim"), attribute.String("service.version", version)),
		resource.Environment(), // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come before
	)
	if err != nil && !errors.Is(err, resource.ErrSchemaURLConflict) {
		return nil, fmt.Errorf("traces: %w", err)
	}
	p := sdk.NewTracerProvider(sdk.WithBatcher(logged{exporter, log}), sdk.WithResource(about))
	return &Tracing{provider: p, tracer: p.Tracer("github.com/sheetclaim/sheetclaim"), log: log}, nil
}

// logged is an exporter whose failures go to our log and not to that of the library,
// which all of a process share.
type logged struct {
	sdk.SpanExporter
	log *slog.Logger
}

// ExportSpans implements sdk.SpanExporter.
func (l logged) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := l.SpanExporter.ExportSpans(ctx, spans); err != nil {
		l.log.Warn("traces could not be sent and are lost", "spans", len(spans), "error", err)
	}
	return nil
}

// Close sends what is left, with little patience: a collector that is gone holds
// nothing up.
func (t *Tracing) Close() {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last traces could not be sent", "error", err)
	}
}

// Run implements claim.Tracer.
func (t *Tracing) Run(ctx context.Context, r claim.RunRef) (context.Context, func(claim.Document)) {
	ctx, span := t.tracer.Start(ctx, "run", trace.WithAttributes(attribute.String("sheetclaim.job", r.Job), attribute.String("sheetclaim.run_id", r.ID)))
	return ctx, func(d claim.Document) {
		span.SetAttributes(
			attribute.String("sheetclaim.outcome", string(d.Outcome)), // "": the rows went to a caller
			attribute.Int("sheetclaim.rows.due", d.Counts.Due), attribute.Int("sheetclaim.rows.sent", d.Counts.Sent),
			attribute.Int("sheetclaim.doubts", len(d.Doubts)),
		)
		if d.Outcome == claim.RunFailed || d.Outcome == claim.RunStopped {
			span.SetStatus(codes.Error, string(d.Outcome))
		}
		span.End()
	}
}

// Step implements claim.Tracer.
func (t *Tracing) Step(ctx context.Context, _ claim.RunRef, s claim.Step) (context.Context, func(error)) {
	ctx, span := t.tracer.Start(ctx, string(s))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "the step ended the run") // the error may hold a cell's text
		}
		span.End()
	}
}

// Sheets is told of a request to the Sheets API.
func (t *Tracing) Sheets(ctx context.Context, call string) (context.Context, func(result string)) {
	ctx, span := t.tracer.Start(ctx, "sheets "+call, trace.WithSpanKind(trace.SpanKindClient))
	return ctx, func(result string) {
		span.SetAttributes(attribute.String("sheetclaim.result", result))
		if result != "ok" {
			span.SetStatus(codes.Error, result)
		}
		span.End()
	}
}

// SMTP is told of a mail transaction or a login.
func (t *Tracing) SMTP(ctx context.Context) (context.Context, func(claim.Result)) {
	ctx, span := t.tracer.Start(ctx, "smtp", trace.WithSpanKind(trace.SpanKindClient))
	return ctx, func(r claim.Result) {
		span.SetAttributes(
			attribute.String("sheetclaim.smtp.step", r.Step), attribute.Int("sheetclaim.smtp.code", r.Code),
			attribute.String("sheetclaim.smtp.verdict", string(r.Verdict)),
		)
		if r.Verdict != claim.Accepted {
			span.SetStatus(codes.Error, string(r.Verdict))
		}
		span.End()
	}
}
