// Lists violations, and lets callers acknowledge them, as each may see them: seen-violation.ts.

import { type Answer, AuditError, ERRORS, type InputOf } from '@tallystick/contract';
import type { Call, OwnViolation, Received } from '../call.ts';
import { timeRangeFaults } from '../events/question.ts';
import type { ReadNoticeParts } from '../events/secret-read.ts';
import { type Cursors, isId, newestFirst, type PageRead, readPage } from '../paging.ts';
import { isDecidedByRules, sightOf } from '../policies/sight.ts';
import type { LogReader } from '../streams/log.ts';
import type { IdempotencyTime } from '../streams/append/idempotency-key.ts';
import { type AnswerParts, keepAnswer } from '../work/job-keys.ts';
import { noteSecretsTold, type SeenViolation, showViolation, violationSeen } from './seen-violation.ts';
import type { StoredViolation, ViolationFilter, ViolationStore } from './violations.ts';

export interface ViolationParts extends ReadNoticeParts, IdempotencyTime, AnswerParts {
  readonly violations: ViolationStore;
  readonly log: Pick<LogReader, 'forTenant'>;
  readonly cursors: Cursors;
}

/** Violations that are read and judged together, where rules decide about each. */
const PORTION = 200;
/** Of a page: more than that in a row are not passed by, so that a request takes no longer the more is withheld. */
const JUDGED_MAX = 10_000;

export function createViolationOperations(parts: ViolationParts) {
  const { violations } = parts;
  const found = async (call: Call, violation: StoredViolation | undefined) => {
    const seen = violation && (await violationSeen(call, violation, parts));
    if (seen === undefined) throw notFound();
    return seen;
  };
  const shown = async (call: Call, seen: SeenViolation) => {
    await noteSecretsTold(call, [seen], parts);
    return showViolation(seen);
  };
  const shownNow = async (call: Call, violationId: string) =>
    shown(call, await found(call, await violations.forTenant(call.tenant!).find(violationId)));
  return {
    'violations.list': {
      perform: (call: Call, input: InputOf<'violations.list'>) => list(call, input, parts),
      rules: ({ startTime, endTime }: Received['input']): OwnViolation[] =>
        timeRangeFaults(startTime, endTime, 'startTime').map((detail) => ({ member: 'startTime', detail })),
    },
    async 'violations.get'(
      call: Call,
      { violationId }: InputOf<'violations.get'>,
    ): Promise<Answer<'violations.get'>> {
      return { kind: 'Done', body: await shownNow(call, violationId) };
    },
    'violations.acknowledge': {
      async perform(
        call: Call,
        { violationId, acknowledgement }: InputOf<'violations.acknowledge'>,
      ): Promise<Answer<'violations.acknowledge'>> {
        const ofTenant = violations.forTenant(call.tenant!);
        await found(call, await ofTenant.find(violationId));
        const acknowledged = { by: call.caller!.name, comment: acknowledgement?.comment };
        const seen = await found(call, await ofTenant.acknowledge(violationId, acknowledged));
        // Its values are not kept with the key: a repeat reads it again.
        await keepAnswer(call, { violationId }, parts);
        return { kind: 'Done', body: await shown(call, seen) };
      },
      keyKeptWith: 'Job',
      answerAgain: async (call: Call, { input }: Received) =>
        ({ kind: 'Repeated', body: await shownNow(call, String(input['violationId'])) }) as const,
    } as const,
  };
}

async function list(
  call: Call,
  input: InputOf<'violations.list'>,
  parts: ViolationParts,
): Promise<Answer<'violations.list'>> {
  const { policyId, severity, violationType, status, startTime, endTime } = input;
  const { visible } = sightOf(call).index;
  const filter: ViolationFilter = {
    policyId,
    severity,
    violationType,
    status,
    fromMs: startTime === undefined ? undefined : Date.parse(startTime),
    toMs: endTime === undefined ? undefined : Date.parse(endTime),
    classification: visible,
  };
  const read = readPage(parts.cursors, call, input, isId);
  const { rows, isCut } = await seenRows(call, filter, read, parts);
  const { count, isExact } = isDecidedByRules(call)
    ? await countSeen(call, filter, parts)
    : { count: await parts.violations.forTenant(call.tenant!).count(filter), isExact: true };
  const { data, pagination } = read.page(rows, ({ violation }) => violation.violationId, count, isCut);
  await noteSecretsTold(call, data, parts);
  return {
    kind: 'Done',
    body: {
      data: data.map(showViolation),
      pagination: isExact && !isCut ? pagination : { ...pagination, totalRelation: 'AtLeast' },
    },
  };
}

/** Violations that are judged for a total, where rules decide about each. */
const COUNTED_MAX = 1000;

async function countSeen(call: Call, filter: ViolationFilter, parts: ViolationParts) {
  const request = { way: 'Falling', beyond: undefined, limit: COUNTED_MAX + 1 } as const;
  const rows = await parts.violations.forTenant(call.tenant!).list(filter, request);
  const isExact = rows.length <= COUNTED_MAX;
  let count = 0;
  for (let at = 0; at < Math.min(rows.length, COUNTED_MAX); at += PORTION) {
    call.deadline.throwIfPassed();
    const seen = await Promise.all(
      rows.slice(at, Math.min(at + PORTION, COUNTED_MAX)).map((each) => violationSeen(call, each, parts)),
    );
    count += seen.filter((each) => each !== undefined).length;
  }
  return { count, isExact };
}

async function seenRows(
  call: Call,
  filter: ViolationFilter,
  read: PageRead<string>,
  parts: ViolationParts,
): Promise<{ readonly rows: SeenViolation[]; readonly isCut: boolean }> {
  const ofTenant = parts.violations.forTenant(call.tenant!);
  const request = newestFirst(read);
  const rows: SeenViolation[] = [];
  let judged = 0;
  for (let { beyond } = request; ; ) {
    call.deadline.throwIfPassed();
    const limit = isDecidedByRules(call) ? PORTION : request.limit;
    const portion = await ofTenant.list(filter, { ...request, beyond, limit });
    const seen = await Promise.all(portion.map((each) => violationSeen(call, each, parts)));
    rows.push(...seen.filter((each) => each !== undefined));
    if (rows.length >= request.limit || portion.length < limit)
      return { rows: rows.slice(0, request.limit), isCut: false };
    if ((judged += portion.length) >= JUDGED_MAX) return { rows, isCut: true };
    beyond = portion.at(-1)!.violationId;
  }
}

function notFound(): AuditError {
  return new AuditError('VIOLATION_NOT_FOUND', ERRORS.VIOLATION_NOT_FOUND.meaning);
}
