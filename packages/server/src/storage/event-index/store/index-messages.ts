// What the threads of an index are asked.

import type { TenantId } from '@tallystick/contract';
import type { IndexCheck, Question } from '../../../events/event-index.ts';
import { pauseForOthers } from '../../../runtime/pause.ts';
import type { Awaitable } from '../segments/searched.ts';
import { DamagedSegment } from './block-cache.ts';
import type { Searches } from './searches.ts';
import type { SegmentMaker } from './segment-maker.ts';
import type { Upkeep } from './upkeep.ts';

/** Anything but zero stops the one who was given it. */
export type StopFlag = Int32Array;

export type SearchMessage =
  | {
      readonly verb: 'Find';
      readonly tenant: TenantId;
      readonly question: Question;
      readonly nowMs: number;
      readonly stop: StopFlag;
    }
  | { readonly verb: 'State'; readonly tenant: TenantId; readonly nowMs: number };

export type MakerMessage =
  | { readonly verb: 'Turn' }
  | { readonly verb: 'Hint'; readonly tenant: TenantId }
  | { readonly verb: 'Build'; readonly tenant: TenantId }
  | { readonly verb: 'Forget'; readonly tenant: TenantId }
  | { readonly verb: 'CheckNext'; readonly stop: StopFlag }
  | { readonly verb: 'Discard'; readonly tenant: TenantId; readonly segment: number }
  | { readonly verb: 'IndexAgain'; readonly tenant: TenantId; readonly index: number }
  /** Whether the index of any tenant is being rebuilt. */
  | { readonly verb: 'IsBuilding' }
  /** Why the segments that were there are thrown away; undefined if they are not. */
  | { readonly verb: 'Discarded' };

/** The error of what was stopped; by then nobody waits for it. */
export class Stopped extends Error {
  constructor() {
    super('it was stopped');
  }
}

/** Said in place of an answer: this segment must be made again. */
export interface Damaged {
  readonly damaged: number;
}

export async function answerSearch(
  searches: Searches,
  message: SearchMessage,
): Promise<{ readonly value: unknown }> {
  if (message.verb === 'State') return { value: await searches.state(message.tenant, message.nowMs) };
  const { tenant, question, nowMs, stop } = message;
  const stopping = { throwIfPassed: () => throwIfStopped(stop) };
  stopping.throwIfPassed();
  try {
    return { value: await searches.find(tenant, question, nowMs, stopping) };
  } catch (error) {
    if (!(error instanceof DamagedSegment)) throw error;
    const damaged: Damaged = { damaged: error.segment };
    return { value: damaged };
  }
}

function throwIfStopped(stop: StopFlag): void {
  if (Atomics.load(stop, 0) !== 0) throw new Stopped();
}

async function checkUntilStopped(upkeep: Upkeep, stop: StopFlag): Promise<IndexCheck> {
  try {
    return await upkeep.checkNext(async () => {
      throwIfStopped(stop);
      await pauseForOthers();
    });
  } catch (error) {
    if (error instanceof Stopped) return { isRoundDone: false, fault: undefined };
    throw error;
  }
}

/** What else a thread that makes segments knows. */
export interface Making {
  readonly maker: SegmentMaker;
  readonly upkeep: Upkeep;
  readonly isBuilding: () => Awaitable<boolean>;
  /** Why the segments that were there are thrown away. */
  readonly discarded?: string | undefined;
}

export async function answerMaker(
  { maker, upkeep, isBuilding, discarded }: Making,
  message: MakerMessage,
): Promise<{ readonly value: unknown }> {
  switch (message.verb) {
    case 'Turn':
      return { value: await maker.turn() };
    case 'Hint':
      return { value: maker.hint(message.tenant) };
    case 'Discard':
      return { value: await maker.discard(message.tenant, message.segment) };
    case 'Forget':
      return { value: await upkeep.forget(message.tenant) };
    case 'CheckNext':
      return { value: await checkUntilStopped(upkeep, message.stop) };
    case 'Build':
      return { value: await maker.build(message.tenant) };
    case 'IndexAgain':
      return { value: await maker.indexAgain(message.tenant, message.index) };
    case 'IsBuilding':
      return { value: await isBuilding() };
    case 'Discarded':
      return { value: discarded };
  }
}
