package claim

import "context"

// Tracer is told what runs do, for metrics and traces. Each method is told of a
// beginning, and answers what is to be told of the end; the context that it answers
// is that of everything in between. It must not block.
type Tracer interface {
	Run(ctx context.Context, r RunRef) (context.Context, func(Document))
	Step(ctx context.Context, r RunRef, s Step) (context.Context, func(error))
}

// traceRun tells of a run that begins.
func (w *Worker) traceRun(ctx context.Context, r RunRef) (context.Context, func(Document)) {
	ctx = context.WithValue(ctx, runKey{}, r)
	if w.Trace == nil {
		return ctx, func(Document) {}
	}
	return w.Trace.Run(ctx, r)
}

// step carries out one step of the method.
func (p *pass) step(ctx context.Context, s Step) (next Step, err error) {
	p.enter(s)
	if p.Trace != nil {
		var end func(error)
		ctx, end = p.Trace.Step(ctx, p.order.Run, s)
		defer func() { end(err) }()
	}
	return method[s](p, ctx)
}

type runKey struct{}

// RunOf answers the run on whose behalf something is done, for the log lines of
// parts that know no runs.
func RunOf(ctx context.Context) (RunRef, bool) {
	r, ok := ctx.Value(runKey{}).(RunRef)
	return r, ok
}
