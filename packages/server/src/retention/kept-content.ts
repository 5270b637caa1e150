// Remembers content that looks expired and stays, since it does not follow from what has decided about it. It is reported, and then
// rests: it is judged again after an hour, however often the sweep comes. While there is some, a check of the health says so.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import type { ExpiredRun, IndexSpan } from '../streams/removal/removal.ts';
import type { Telemetry } from '../telemetry.ts';
import type { KeptRun } from './judge-expired.ts';

interface Resting extends IndexSpan {
  readonly isUndecided: boolean;
  /** By the monotonic clock. */
  readonly againNs: number;
  /** Until then it counts as kept: the next look comes before, and finds it again if it is still there. */
  readonly forgottenNs: number;
}

const REST_NS = 3600e9;
const LOOK_NS = 60e9;
/** Of a tenant. More are one span, and all in between rests, too. */
const SPANS_MAX = 1000;
const LINES_MAX = 10;
const KEPT = 'content past its expiry is kept: it does not follow from what has decided about it';

export class KeptContent {
  readonly #clock: Pick<Clock, 'monotonicNs'>;
  readonly #telemetry: Pick<Telemetry, 'error' | 'warn'>;
  readonly #intervalNs: number;
  readonly #resting = new Map<TenantId, Resting[]>();

  constructor(
    clock: Pick<Clock, 'monotonicNs'>,
    telemetry: Pick<Telemetry, 'error' | 'warn'>,
    intervalMs: number,
  ) {
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#intervalNs = intervalMs * 1e6;
  }

  /** What does not rest. */
  without(tenant: TenantId, runs: readonly ExpiredRun[]): ExpiredRun[] {
    const nowNs = this.#clock.monotonicNs();
    const resting = this.#restingOf(tenant).filter(({ againNs }) => againNs > nowNs);
    return resting.reduce<ExpiredRun[]>(
      (left, span) => left.flatMap((run) => partsBeside(run, span)),
      [...runs],
    );
  }

  keep(tenant: TenantId, runs: readonly KeptRun[]): void {
    if (runs.length === 0) return;
    this.#report(tenant, runs);
    const againNs = this.#clock.monotonicNs() + REST_NS;
    const forgottenNs = againNs + 2 * this.#intervalNs + LOOK_NS;
    const spans = runs.map(
      ({ firstIndex, endIndex, isUndecided }): Resting => ({
        firstIndex,
        endIndex,
        isUndecided,
        againNs,
        forgottenNs,
      }),
    );
    const all = [...this.#restingOf(tenant), ...spans];
    this.#resting.set(tenant, all.length > SPANS_MAX ? [covering(all)] : all);
  }

  /** Those of which some content does not follow from its decision. */
  tenants(): number {
    return [...this.#resting.keys()].filter((tenant) =>
      this.#restingOf(tenant).some(({ isUndecided }) => !isUndecided),
    ).length;
  }

  #restingOf(tenant: TenantId): Resting[] {
    const nowNs = this.#clock.monotonicNs();
    const left = (this.#resting.get(tenant) ?? []).filter(({ forgottenNs }) => forgottenNs > nowNs);
    if (left.length === 0) this.#resting.delete(tenant);
    else this.#resting.set(tenant, left);
    return left;
  }

  #report(tenant: TenantId, runs: readonly KeptRun[]): void {
    const [undecided, altered] = [
      runs.filter((run) => run.isUndecided),
      runs.filter((run) => !run.isUndecided),
    ];
    for (const run of altered.slice(0, LINES_MAX))
      this.#telemetry.error(KEPT, new Error(run.why), {
        tenant,
        index: run.firstIndex,
        events: eventsIn([run]),
      });
    const more = altered.slice(LINES_MAX);
    const [first] = more;
    if (first !== undefined)
      this.#telemetry.error(KEPT, new Error(first.why), {
        tenant,
        index: first.firstIndex,
        events: eventsIn(more),
      });
    const [unsure] = undecided;
    if (unsure === undefined) return;
    const facts = { tenant, index: unsure.firstIndex, events: eventsIn(undecided), cause: unsure.why };
    this.#telemetry.warn('content past its expiry is kept for now', facts);
  }
}

function covering(spans: readonly Resting[]): Resting {
  return {
    firstIndex: Math.min(...spans.map(({ firstIndex }) => firstIndex)),
    endIndex: Math.max(...spans.map(({ endIndex }) => endIndex)),
    isUndecided: spans.every(({ isUndecided }) => isUndecided),
    againNs: Math.max(...spans.map(({ againNs }) => againNs)),
    forgottenNs: Math.max(...spans.map(({ forgottenNs }) => forgottenNs)),
  };
}

function partsBeside(run: ExpiredRun, { firstIndex, endIndex }: IndexSpan): ExpiredRun[] {
  const before = { ...run, endIndex: Math.min(run.endIndex, firstIndex) };
  const behind = { ...run, firstIndex: Math.max(run.firstIndex, endIndex) };
  return [before, behind].filter((part) => part.firstIndex < part.endIndex);
}

function eventsIn(runs: readonly IndexSpan[]): number {
  return runs.reduce((sum, { firstIndex, endIndex }) => sum + endIndex - firstIndex, 0);
}
