// Reads events for deliveries. Events that are asked for at the same moment and are close together in the log are one read. So the jobs of
// one claim, which are mostly about the same few events, cost the store a read or two.

import type { TenantId } from '@tallystick/contract';
import { pauseForOthers } from '../runtime/pause.ts';
import type { LogReader, StoredEvent } from '../streams/log.ts';

/** Rather read this many unneeded events than start another read. */
const GAP_MAX = 8;
const READ_MAX = 100;

type Asked = Map<number, PromiseWithResolvers<StoredEvent | undefined>>;

export class EventReads {
  readonly #log: Pick<LogReader, 'forTenant'>;
  readonly #asked = new Map<TenantId, Asked>();

  constructor(log: Pick<LogReader, 'forTenant'>) {
    this.#log = log;
  }

  /** Undefined: the event at this index is gone. */
  at(tenant: TenantId, index: number): Promise<StoredEvent | undefined> {
    let asked = this.#asked.get(tenant);
    if (asked === undefined) {
      this.#asked.set(tenant, (asked = new Map()));
      void this.#readSoon(tenant, asked);
    }
    let answer = asked.get(index);
    if (answer === undefined) asked.set(index, (answer = Promise.withResolvers()));
    return answer.promise;
  }

  /** Never rejects. */
  async #readSoon(tenant: TenantId, asked: Asked): Promise<void> {
    // Deliveries that began together, or whose turns came at the same time, ask before this continues.
    await pauseForOthers();
    this.#asked.delete(tenant);
    const indexes = [...asked.keys()].sort((a, b) => a - b);
    await Promise.all(runsOf(indexes).map((run) => this.#readRun(tenant, run, asked)));
  }

  async #readRun(tenant: TenantId, run: readonly number[], asked: Asked): Promise<void> {
    const first = run[0]!;
    const end = run.at(-1)! + 1;
    try {
      const events = await this.#log.forTenant(tenant).events(first, end, end - first);
      const found = new Map(events.map((event) => [event.index, event]));
      for (const index of run) asked.get(index)!.resolve(found.get(index));
    } catch (error) {
      // An event that cannot be read must fail its own deliveries only.
      if (run.length > 1) await Promise.all(run.map((index) => this.#readRun(tenant, [index], asked)));
      else asked.get(first)!.reject(error);
    }
  }
}

/** Of indexes in their order. */
function runsOf(indexes: readonly number[]): number[][] {
  const runs: number[][] = [];
  for (const index of indexes) {
    const run = runs.at(-1);
    if (run !== undefined && index - run.at(-1)! <= GAP_MAX && index - run[0]! < READ_MAX) run.push(index);
    else runs.push([index]);
  }
  return runs;
}
