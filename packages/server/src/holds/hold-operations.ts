// The operations on legal holds. Placing and releasing are one commit each: the record, the notice in the tenant's log, the
// idempotency key, and the job that counts what a new hold keeps. A hold counts from the answer on: a notice that removes
// content and was decided without it is refused (streams/log.ts).

import { type Answer, AuditError, ERRORS, type HoldId, type InputOf } from '@tallystick/contract';
import { KINDS } from '@tallystick/evidence';
import type { Tenancy } from '../access/tenancy.ts';
import type { TenantRecord } from '../access/tenants.ts';
import type { Call, OwnViolation, Received } from '../call.ts';
import { type Cursors, isId, newestFirst, readPage, rowsIn } from '../paging.ts';
import { seesEverything } from '../policies/sight.ts';
import { type ChangeRecords, recordsOf } from '../records/change.ts';
import { UNCLASSIFIED } from '../repeats.ts';
import type { Clock } from '../runtime/clock.ts';
import { KeyedQueue } from '../runtime/turns.ts';
import { type IdempotencyTime, idempotencyNowMs, onceOf } from '../streams/append/idempotency-key.ts';
import type { UsedIdempotencyKey } from '../streams/log.ts';
import type { Telemetry } from '../telemetry.ts';
import { contentOfHold, HOLD_KIND, type HoldRecord, showHold } from './hold.ts';
import { AT_ONCE_MAX, countJob, heldEvents, type HeldEventsParts } from './hold-count.ts';
import { holdBudgetFaults, holdFaults } from './hold-faults.ts';
import type { Holds } from './holds.ts';

export interface HoldOperationParts extends IdempotencyTime, HeldEventsParts {
  readonly holds: Holds;
  readonly tenancy: Pick<Tenancy, 'provide'>;
  readonly change: ChangeRecords;
  readonly cursors: Cursors;
  readonly clock: Clock;
  readonly nextId: () => string;
  readonly telemetry: Pick<Telemetry, 'info'>;
}

/** While others change the same hold. */
const ATTEMPTS_MAX = 20;

export function createHoldOperations(parts: HoldOperationParts) {
  const changes = new HoldChanges(parts);
  const answerAgain = async (call: Call, _: Received, { note }: UsedIdempotencyKey) =>
    ({ kind: 'Repeated', body: showHold(await holdNoted(call, note, parts)) }) as const;
  return {
    'holds.create': {
      async perform(call: Call, { hold }: InputOf<'holds.create'>): Promise<Answer<'holds.create'>> {
        return { kind: 'Created', body: showHold(await changes.place(call, hold)) };
      },
      rules: ({ hold }: Received['input']): OwnViolation[] =>
        holdFaults(hold).map((detail) => ({ member: 'hold', detail })),
      answerAgain,
    },
    'holds.list': (call: Call, input: InputOf<'holds.list'>) => listHolds(call, input, parts),
    async 'holds.get'(call: Call, { holdId }: InputOf<'holds.get'>): Promise<Answer<'holds.get'>> {
      const [shown] = await shownHolds(call, [await found(call, holdId, parts)], parts);
      return { kind: 'Done', body: shown! };
    },
    'holds.release': {
      async perform(
        call: Call,
        { holdId, release }: InputOf<'holds.release'>,
      ): Promise<Answer<'holds.release'>> {
        return { kind: 'Done', body: showHold(await changes.release(call, holdId, release.reason)) };
      },
      answerAgain,
    },
  };
}

class HoldChanges {
  readonly #parts: HoldOperationParts;
  /** Changes of a tenant run one after the other in this process, so that they do not conflict; nodes may pass a limit together. */
  readonly #turns = new KeyedQueue();

  constructor(parts: HoldOperationParts) {
    this.#parts = parts;
  }

  async place(call: Call, { name, reason, conditions, range }: InputOf<'holds.create'>['hold']) {
    const { tenancy, holds, clock, nextId, wakeHoldCount } = this.#parts;
    const tenant = await tenancy.provide(call.tenant!);
    return this.#turns.take(call.tenant!, async () => {
      const hold: HoldRecord = {
        holdId: nextId(),
        tenantId: tenant.tenantId,
        version: 1,
        name,
        reason,
        conditions,
        range,
        status: 'Active',
        createdAtMs: clock.now(),
        createdBy: call.caller!.name,
        release: undefined,
      };
      const details = holdBudgetFaults(hold, await holds.all(tenant.tenantId));
      const [first] = details;
      if (first !== undefined)
        throw new AuditError('VALIDATION_FAILED', `${first.field || 'It'} ${first.issue}.`, { details });
      // Nobody else can have changed it: its id is new.
      await this.#put(call, tenant, hold);
      wakeHoldCount();
      return hold;
    });
  }

  release(call: Call, holdId: HoldId, reason: string): Promise<HoldRecord> {
    const { clock } = this.#parts;
    return this.#turns.take(call.tenant!, async () => {
      for (let attempt = 1; ; attempt++) {
        const current = await found(call, holdId, this.#parts);
        if (current.status === 'Released') return current;
        const released: HoldRecord = {
          ...current,
          version: current.version + 1,
          status: 'Released',
          release: { atMs: clock.now(), by: call.caller!.name, reason },
        };
        // A hold belongs to a tenant, so there is one.
        if (await this.#put(call, call.tenantRecord!, released)) return released;
        if (attempt === ATTEMPTS_MAX)
          throw new AuditError(
            'SERVICE_UNAVAILABLE',
            `The hold ${holdId} is being changed by others; try again.`,
          );
      }
    });
  }

  /** False if another caller has changed it meanwhile. */
  async #put(call: Call, tenant: TenantRecord, hold: HoldRecord): Promise<boolean> {
    const { change, telemetry } = this.#parts;
    const { holdId, version, tenantId: owner, status } = hold;
    const { requestId, correlationId } = call.correlation;
    const act = status === 'Active' ? 'Placed' : 'Released';
    // Report it before it is done, so that no change goes unseen.
    telemetry.info('a legal hold is changed', {
      tenant: owner,
      holdId,
      act,
      requestId,
      caller: call.caller!.name,
    });
    const once = onceOf(call, tenant, idempotencyNowMs(this.#parts), UNCLASSIFIED, `${holdId} ${version}`);
    const notice = {
      kind: KINDS.legalHold,
      action: ACTIONS[act],
      resource: { resourceType: HOLD_KIND, resourceId: holdId },
      payload: { holdId, act, policyId: null },
    } as const;
    const write = { kind: HOLD_KIND, id: holdId, version, content: contentOfHold(hold), notice } as const;
    const jobs = act === 'Placed' ? [countJob(holdId)] : [];
    const result = recordsOf(await change({ owner, writes: [write], correlationId, once, jobs }));
    if (!('status' in result)) return true;
    return false;
  }
}

const ACTIONS = { Placed: 'Place.LegalHold', Released: 'Release.LegalHold' } as const;

async function found(call: Call, holdId: HoldId, { holds }: HoldOperationParts): Promise<HoldRecord> {
  const hold = await holds.find(call.tenant!, holdId);
  if (hold === undefined) throw new AuditError('HOLD_NOT_FOUND', ERRORS.HOLD_NOT_FOUND.meaning);
  return hold;
}

/** The version that the first answer showed. */
async function holdNoted(call: Call, note: string, parts: HoldOperationParts): Promise<HoldRecord> {
  const [holdId = '', version] = note.split(' ');
  return (await parts.holds.version(call.tenant!, holdId, Number(version))) ?? found(call, holdId, parts);
}

async function listHolds(
  call: Call,
  input: InputOf<'holds.list'>,
  parts: HoldOperationParts,
): Promise<Answer<'holds.list'>> {
  const listed = (await parts.holds.all(call.tenant!)).filter(
    ({ status }) => input.status === undefined || input.status.includes(status),
  );
  const read = readPage(parts.cursors, call, input, isId);
  const rows = rowsIn(listed, ({ holdId }) => holdId, newestFirst(read));
  const { data, pagination } = read.page(rows, ({ holdId }) => holdId, listed.length);
  return { kind: 'Done', body: { data: await shownHolds(call, data, parts), pagination } };
}

/** With what they keep, for a reader from whom nothing is withheld: to others the number would tell what is. */
async function shownHolds(call: Call, holds: readonly HoldRecord[], parts: HoldOperationParts) {
  const isCounted = seesEverything(call);
  const atOnceMax = Math.ceil(AT_ONCE_MAX / holds.length);
  const shown: ReturnType<typeof showHold>[] = [];
  for (const hold of holds)
    shown.push(showHold(hold, isCounted ? await heldEvents(hold, parts, atOnceMax) : undefined));
  return shown;
}
