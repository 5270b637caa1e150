// The spans of appending. Each traced request has one from its call to its answer, and each commit has one: under the first
// traced request of its pool, linked with all others, so that a span costs nothing per event.

import type { Appender } from '../../admin/measured-log.ts';
import type { ChangeRefusal } from '../../records/records.ts';
import type { Span, Tracing } from '../../telemetry/tracing.ts';
import type { AppendRequest, AppendResult, EventsRequest } from '../log.ts';
import type { Sequencer } from './sequencer.ts';

export interface TracedAppends {
  /** What the sequencer writes to. */
  log(log: Appender): Appender;
  sequencer(sequencer: Sequencer): Sequencer;
}

/** Undefined: nothing is traced. */
export function traceAppends(tracing: Tracing | undefined): TracedAppends {
  if (tracing === undefined) return { log: (log) => log, sequencer: (sequencer) => sequencer };
  const spans = new WeakMap<AppendRequest, Span>();
  return {
    log: (log) => ({
      append(requests, now, onLocked) {
        const [first, ...others] = requests.flatMap((request) => spans.get(request) ?? []);
        if (first === undefined) return log.append(requests, now, onLocked);
        const drafts = requests.reduce((sum, request) => sum + request.drafts.length, 0);
        return tracing.during(
          {
            name: 'commit',
            kind: 'Internal',
            under: first.ref,
            links: others.map(({ ref }) => ref),
            facts: { 'tallystick.requests': requests.length, 'tallystick.drafts': drafts },
          },
          (commit) => {
            for (const span of others) span.link(commit.ref);
            return log.append(requests, now, onLocked);
          },
        );
      },
      probe: () => log.probe(),
    }),
    sequencer: (sequencer) => new TracedSequencer(sequencer, tracing, spans),
  };
}

class TracedSequencer implements Sequencer {
  readonly #sequencer: Sequencer;
  readonly #tracing: Tracing;
  readonly #spans: WeakMap<AppendRequest, Span>;

  constructor(sequencer: Sequencer, tracing: Tracing, spans: WeakMap<AppendRequest, Span>) {
    this.#sequencer = sequencer;
    this.#tracing = tracing;
    this.#spans = spans;
  }

  append(request: EventsRequest): Promise<AppendResult>;
  append(request: AppendRequest): Promise<AppendResult | ChangeRefusal>;
  append(request: AppendRequest): Promise<AppendResult | ChangeRefusal> {
    if (this.#tracing.current() === undefined) return this.#sequencer.append(request);
    const facts = { 'tallystick.drafts': request.drafts.length };
    return this.#tracing.during(
      { name: 'append', kind: 'Internal', under: 'Around', facts },
      async (span) => {
        this.#spans.set(request, span);
        const result = await this.#sequencer.append(request);
        if (result.status === 'Done') this.#remember(request, result, span);
        return result;
      },
    );
  }

  #remember({ tenant }: AppendRequest, { outcomes }: AppendResult & { status: 'Done' }, { ref }: Span): void {
    const { origins } = this.#tracing;
    for (const outcome of outcomes)
      if (outcome.status === 'Appended') origins.remember(tenant, outcome.index, ref);
  }

  probe(): Promise<void> {
    return this.#sequencer.probe();
  }

  figures() {
    return this.#sequencer.figures();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sequencer[Symbol.asyncDispose]();
  }
}
