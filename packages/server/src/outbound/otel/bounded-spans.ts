// Keeps the export of spans within bounds: so many wait at most, in the queue of the SDK and under way together; the others are
// dropped and counted. Neither a receiver that is slow nor one that is away costs a request anything, or memory.

import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, Span, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { SpanCounts } from '../../telemetry/tracing.ts';
import { type TellingParts, ToldFailures } from './told-failures.ts';

export interface BoundedSpansParts extends TellingParts {
  readonly spansMax: number;
}

export class BoundedSpans {
  readonly #spansMax: number;
  readonly #told: ToldFailures;
  readonly #counts = { Exported: 0, Failed: 0, Dropped: 0 };
  #waiting = 0;

  constructor(parts: BoundedSpansParts) {
    this.#spansMax = parts.spansMax;
    this.#told = new ToldFailures('traces', parts);
  }

  counts(): SpanCounts {
    return { ...this.#counts };
  }

  /** In front of the queue. */
  before(queue: SpanProcessor): SpanProcessor {
    return {
      onStart: (span: Span, context) => queue.onStart(span, context),
      onEnd: (span) => {
        if (this.#waiting >= this.#spansMax) {
          this.#counts.Dropped += 1;
          return;
        }
        this.#waiting += 1;
        queue.onEnd(span);
      },
      forceFlush: () => queue.forceFlush(),
      shutdown: () => queue.shutdown(),
    };
  }

  /** Behind the queue. */
  around(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, done) => exporter.export(spans, (result) => done(this.#noted(spans, result))),
      shutdown: () => exporter.shutdown(),
      ...(exporter.forceFlush !== undefined && { forceFlush: () => exporter.forceFlush!() }),
    };
  }

  /** A failure ends here: the SDK would only tell it to a handler of its own. */
  #noted(spans: readonly ReadableSpan[], { code, error }: ExportResult): ExportResult {
    this.#waiting -= spans.length;
    if (code === ExportResultCode.SUCCESS) {
      this.#counts.Exported += spans.length;
      this.#told.succeeded();
    } else {
      this.#counts.Failed += spans.length;
      const { Failed: failed, Dropped: dropped } = this.#counts;
      this.#told.failed(error, { failed, dropped });
    }
    return { code: ExportResultCode.SUCCESS };
  }
}
