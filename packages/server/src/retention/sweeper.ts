// Looks for content past its retention, in all logs that this node looks after, and enqueues a job for each stream that has some. Its
// time is the least of the wall clock, as far as it is believed, and the clock of the store: content is never removed early
// because a clock jumped.

import type { TenantId } from '@tallystick/contract';
import type { Check } from '../admin/health.ts';
import { type Clock, wait } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import { pauseForOthers } from '../runtime/pause.ts';
import type { Random } from '../runtime/random.ts';
import type { RemovalStore } from '../streams/removal/removal.ts';
import type { Telemetry } from '../telemetry.ts';
import type { WorkStore } from '../work/jobs.ts';
import { purgeJob, type PurgeWork } from './purge-work.ts';

export interface SweeperParts {
  readonly removal: Pick<RemovalStore, 'dueStreams' | 'reclaimSpace'>;
  readonly work: Pick<WorkStore, 'forTenant'>;
  readonly refusalOf: (tenant: TenantId) => string | undefined;
  readonly untilMs: () => Promise<number>;
  readonly intervalMs: number;
  readonly wake: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextId: () => string;
  readonly telemetry: Pick<Telemetry, 'warn' | 'error'>;
}

export interface Sweeper extends AsyncDisposable {
  start(): void;
  /** Why the last turn failed; undefined if it succeeded. */
  failure(): unknown;
}

const BACK_OFF_MS = 1000;
const RECLAIM_PAUSE_MS = 5;
/** Streams are gathered over portions, up to this number. */
const GATHERED_MAX = 10_000;

/** The earlier of two clocks, of which the second one may be that of the same machine. */
export function expiryTime(time: () => number, removal: Pick<RemovalStore, 'nowMs'>): () => Promise<number> {
  return async () => {
    const ofStore = await removal.nowMs();
    return ofStore === undefined ? time() : Math.min(time(), ofStore);
  };
}

export function createSweeper(parts: SweeperParts): Sweeper {
  const { clock, random, telemetry, intervalMs } = parts;
  let failure: unknown;
  let loop: Loop | undefined;
  return {
    start() {
      loop ??= startLoop({
        clock,
        random,
        paceMs: intervalMs,
        backOffMs: Math.min(BACK_OFF_MS, intervalMs),
        backOffMsMax: intervalMs,
        async turn(signal) {
          await sweep(parts, signal);
          failure = undefined;
        },
        onFailure({ error }) {
          failure = error;
          telemetry.warn('expired content could not be looked for', { cause: String(error) });
        },
        onBroken(error) {
          failure = error;
          telemetry.error('expired content is no longer looked for', error);
        },
      });
    },
    failure: () => failure,
    [Symbol.asyncDispose]: async () => loop?.[Symbol.asyncDispose](),
  };
}

async function sweep(parts: SweeperParts, signal: AbortSignal): Promise<void> {
  const { removal, clock } = parts;
  const untilMs = await parts.untilMs();
  const gathered = new Map<string, Due>();
  let from: string | undefined;
  do {
    const { due, next } = await removal.dueStreams(untilMs, from);
    for (const each of due) gather(gathered, each);
    if (next === undefined || gathered.size >= GATHERED_MAX) {
      await enqueueAll(gathered.values(), parts, signal);
      gathered.clear();
    }
    from = next;
    await pauseForOthers();
  } while (from !== undefined && !signal.aborted);
  // What was freed by other means, and what a stopped service has left.
  while (!signal.aborted && (await removal.reclaimSpace(untilMs)))
    await wait(clock, RECLAIM_PAUSE_MS, signal);
}

type Due = Awaited<ReturnType<RemovalStore['dueStreams']>>['due'][number];

function gather(gathered: Map<string, Due>, due: Due): void {
  const key = `${due.tenant} ${due.streamFirstIndex}`;
  const known = gathered.get(key)?.span ?? due.span;
  const firstIndex = Math.min(known.firstIndex, due.span.firstIndex);
  const endIndex = Math.max(known.endIndex, due.span.endIndex);
  gathered.set(key, { ...due, span: { firstIndex, endIndex } });
}

/** A stream whose job is not done yet keeps that one, so that it does not matter how many nodes sweep. */
async function enqueueAll(
  due: Iterable<Due>,
  { work, refusalOf, nextId, wake }: SweeperParts,
  signal: AbortSignal,
): Promise<void> {
  for (const { tenant, streamFirstIndex: stream, span } of due) {
    if (signal.aborted) return;
    if (refusalOf(tenant) !== undefined) continue;
    const { tenant: _, ...job } = purgeJob(tenant, nextId(), { stream, span });
    const { status } = await work.forTenant(tenant).enqueue(job);
    if (status === 'Enqueued') wake();
  }
}

/** Of the storage: content that stays beyond its time is a breach of what was promised, though nothing is lost. */
export function withRetention(
  storage: Check,
  sweeper: Pick<Sweeper, 'failure'>,
  work: Pick<PurgeWork, 'failingTenants' | 'keepingTenants'>,
): Check {
  const trouble = () => {
    if (sweeper.failure() !== undefined || work.failingTenants() > 0)
      return 'Expired content is not removed at the moment; the diagnostics say why.';
    if (work.keepingTenants() === 0) return undefined;
    return 'Content is kept beyond its expiry, which does not follow from what has decided; the diagnostics say where.';
  };
  return {
    ...storage,
    async run() {
      const report = await storage.run();
      const description = trouble();
      if (report.status !== 'Healthy' || description === undefined) return report;
      return { status: 'Degraded', description };
    },
  };
}
