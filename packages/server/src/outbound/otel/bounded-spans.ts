// Keeps the export of spans within bounds: so many wait at most, in the queue of the SDK and under way together; the others are
// dropped and counted. Neither a receiver that is slow nor one that is away costs a request anything, or memory.

import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, Span, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { Clock } from '../../runtime/clock.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { SpanCounts } from '../../telemetry/tracing.ts';

export interface BoundedSpansParts {
  readonly spansMax: number;
  readonly clock: Pick<Clock, 'monotonicNs'>;
  readonly telemetry: Pick<Telemetry, 'warn' | 'info'>;
}

/** A receiver that is away for a day must not fill the diagnostics. */
const TOLD_EVERY_NS = 60e9;

export class BoundedSpans {
  readonly #parts: BoundedSpansParts;
  readonly #counts = { Exported: 0, Failed: 0, Dropped: 0 };
  #waiting = 0;
  #toldNs: number | undefined;

  constructor(parts: BoundedSpansParts) {
    this.#parts = parts;
  }

  counts(): SpanCounts {
    return { ...this.#counts };
  }

  /** In front of the queue. */
  before(queue: SpanProcessor): SpanProcessor {
    return {
      onStart: (span: Span, context) => queue.onStart(span, context),
      onEnd: (span) => {
        if (this.#waiting >= this.#parts.spansMax) {
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
      if (this.#toldNs !== undefined) this.#parts.telemetry.info('traces are exported again');
      this.#toldNs = undefined;
    } else {
      this.#counts.Failed += spans.length;
      this.#tell(error);
    }
    return { code: ExportResultCode.SUCCESS };
  }

  #tell(error: Error | undefined): void {
    const { clock, telemetry } = this.#parts;
    const nowNs = clock.monotonicNs();
    if (this.#toldNs !== undefined && nowNs - this.#toldNs < TOLD_EVERY_NS) return;
    this.#toldNs = nowNs;
    const { Failed: failed, Dropped: dropped } = this.#counts;
    telemetry.warn('traces could not be exported', { failed, dropped, reason: error?.message });
  }
}
