// Traces by the SDK of OpenTelemetry. Nothing of it is registered for the whole process: whoever traces is handed the Tracing. What
// runs within a span is told by the asynchronous context of Node, so that a span needs no argument on its way to the log.

import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  failureOf,
  Origins,
  type Span,
  type SpanRef,
  type SpanStart,
  type Tracing,
} from '../../telemetry/tracing.ts';

const KINDS = {
  Server: SpanKind.SERVER,
  Client: SpanKind.CLIENT,
  Consumer: SpanKind.CONSUMER,
  Internal: SpanKind.INTERNAL,
} as const;

export class OtelTracing implements Tracing {
  readonly origins = new Origins();
  readonly #tracer: Tracer;
  readonly #around = new AsyncLocalStorage<OtelSpan>();
  readonly #propagator = new W3CTraceContextPropagator();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  async during<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T> {
    const span = this.#begin(start);
    try {
      return await this.#around.run(span, work, shown(span));
    } catch (error) {
      failed(span, failureOf(error));
      throw error;
    } finally {
      span.end();
    }
  }

  current(): SpanRef | undefined {
    const span = this.#around.getStore();
    return span?.isRecording() === true ? span.spanContext() : undefined;
  }

  happened(start: SpanStart, beganMs: number, failure?: string): void {
    const span = this.#begin(start, beganMs);
    if (failure !== undefined) failed(span, failure);
    span.end();
  }

  #begin({ name, kind, under, links = [], facts }: SpanStart, startTime?: number): OtelSpan {
    const options: SpanOptions = {
      kind: KINDS[kind],
      links: links.map((context) => ({ context })),
      ...(facts !== undefined && { attributes: facts }),
      ...(startTime !== undefined && { startTime }),
    };
    return this.#tracer.startSpan(name, options, this.#contextOf(under));
  }

  #contextOf(under: SpanStart['under']): Context {
    if (under === 'Nothing') return ROOT_CONTEXT;
    if (under === 'Around') {
      const around = this.#around.getStore();
      return around === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, around);
    }
    if ('headers' in under)
      return this.#propagator.extract(ROOT_CONTEXT, under.headers, defaultTextMapGetter);
    return trace.setSpanContext(ROOT_CONTEXT, under);
  }
}

function shown(span: OtelSpan): Span {
  return {
    ref: span.spanContext(),
    rename: (name) => void span.updateName(name),
    note: (facts) => void span.setAttributes(facts),
    link(other) {
      if ((other.traceFlags & TraceFlags.SAMPLED) !== 0) span.addLink({ context: other });
    },
    fail: (type) => failed(span, type),
  };
}

function failed(span: OtelSpan, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
