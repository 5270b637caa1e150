// The port to traces: which spans there are is decided by those who do the work, where they go by an adapter. Traces are off
// unless an operator asks for them; then there is no Tracing, and nothing is wrapped. Facts of a span are operations, counts and
// classes of errors: no content, no credential, no name of a tenant or of a person.

/** As W3C Trace Context has it. */
export interface SpanRef {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

export type SpanFacts = Readonly<Record<string, string | number | boolean>>;

export interface SpanStart {
  /** One of few: what differs from one span to the next is a fact. */
  readonly name: string;
  readonly kind: 'Server' | 'Client' | 'Consumer' | 'Internal';
  /** What it is a part of. `Around`: the span in which this code runs. The headers of a request: that of its sender. */
  readonly under: 'Nothing' | 'Around' | SpanRef | SenderHeaders;
  readonly links?: readonly SpanRef[];
  readonly facts?: SpanFacts;
}

/** With `traceparent` and `tracestate`, or without. */
export interface SenderHeaders {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Span {
  readonly ref: SpanRef;
  rename(name: string): void;
  note(facts: SpanFacts): void;
  link(other: SpanRef): void;
  /** `type`: a class of error, never a message. */
  fail(type: string): void;
}

export interface Tracing {
  /** Runs the work in a span, which ends with it. */
  during<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>;
  /** The span in which this code runs; undefined if there is none, or if it was not chosen to be recorded. */
  current(): SpanRef | undefined;
  /** A span that is over now: of work that is worth one only if it found something to do. */
  happened(start: SpanStart, beganMs: number, failure?: string): void;
  /** Where the newest events of this process were sent from, so that what they cause later belongs to it. */
  readonly origins: Origins;
}

/** Spans since the start, by what came of their export. */
export interface SpanCounts {
  readonly Exported: number;
  /** The receiver has not taken them. */
  readonly Failed: number;
  /** Too many others were waiting. */
  readonly Dropped: number;
}

const ORIGINS_MAX = 10_000;

/** Of the newest events that were traced; the older ones are forgotten. */
export class Origins {
  readonly #refs = new Map<string, SpanRef>();

  remember(tenant: string, index: number, ref: SpanRef): void {
    this.#refs.set(`${tenant}/${index}`, ref);
    if (this.#refs.size <= ORIGINS_MAX) return;
    const [oldest] = this.#refs.keys();
    this.#refs.delete(oldest!);
  }

  of(tenant: string, index: number): SpanRef | undefined {
    return this.#refs.get(`${tenant}/${index}`);
  }

  get size(): number {
    return this.#refs.size;
  }
}

/** As the header `traceparent` has it. */
export function traceparentOf({ traceId, spanId, traceFlags }: SpanRef): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** The class of an error, for `Span.fail`. */
export function failureOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
