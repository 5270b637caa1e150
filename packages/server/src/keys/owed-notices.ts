// The notices that a rotation of the signing key still owes to logs: those that were refused when it was announced, and
// must not go on, not even by a notice. Each gets its own as soon as it may: when it has been compared with its anchor, or
// has gone on in a new epoch. What is owed is written down before the new key counts, and is forgotten only when
// every log in it has its notice; a notice has one id in all attempts, so no log gets it twice.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Sequencer } from '../streams/append/sequencer.ts';
import type { TreesWith } from '../streams/tree.ts';
import type { Telemetry } from '../telemetry.ts';
import { noticeFor, outcomeOf, type Rotation } from './rotation.ts';

export interface OwedNotices {
  readonly rotation: Rotation;
  readonly tenants: readonly TenantId[];
  /** They all have it. */
  readonly settle: () => Promise<void>;
}

export interface OwedNoticesParts {
  /** Of rotations that count; the command line may add some while the service runs. Cheap when there is none. */
  readonly read: () => Promise<readonly OwedNotices[]>;
  readonly trees: TreesWith<'tree'>;
  readonly refusalOf: (tenant: TenantId) => string | undefined;
  readonly sequencer: Pick<Sequencer, 'append'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
}

const PACE_MS = 5000;
const BACK_OFF_MS_MAX = 5 * 60_000;

export function startOwedNotices(parts: OwedNoticesParts): Loop {
  const { clock, random, telemetry } = parts;
  const told = new Set<string>();
  return startLoop({
    clock,
    random,
    paceMs: PACE_MS,
    backOffMs: PACE_MS,
    backOffMsMax: BACK_OFF_MS_MAX,
    turn: async (signal) => {
      for (const owed of await parts.read()) await tellAll(owed, told, signal, parts);
    },
    onFailure: ({ error }) =>
      telemetry.warn('not every log has its notice of a key rotation yet', {
        cause: String(error),
      }),
    onBroken: (error) => telemetry.error('notices of key rotations are no longer written', error),
  });
}

/** One log that cannot be written keeps no other from its notice. */
async function tellAll(
  { rotation, tenants, settle }: OwedNotices,
  told: Set<string>,
  signal: AbortSignal,
  parts: OwedNoticesParts,
): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  let left = 0;
  for (const tenant of tenants) {
    if (signal.aborted) return;
    const name = `${rotation.noticeId} ${tenant}`;
    try {
      if (told.has(name) || (await tell(tenant, rotation, parts))) told.add(name);
      else left += 1;
    } catch (error) {
      failure = { error };
    }
  }
  if (failure !== undefined) throw failure.error;
  if (left === 0) await settle();
}

/** False: it must not go on yet, or is not there. */
async function tell(tenant: TenantId, rotation: Rotation, parts: OwedNoticesParts): Promise<boolean> {
  const { trees, sequencer, clock, random, telemetry } = parts;
  if (parts.refusalOf(tenant) !== undefined) return false;
  const tree = await trees.forTenant(tenant).tree();
  if (tree === undefined) return false;
  const request = noticeFor({ tenant, origin: tree.origin }, rotation, random.uuid(), clock.now());
  const outcome = outcomeOf(await sequencer.append(request));
  if (outcome === 'Appended') {
    telemetry.info('a log has the notice of a key rotation that it was owed', { tenant });
  } else if (outcome !== 'Duplicate') throw new Error(`the log of ${tenant}: ${outcome}`);
  return true;
}
