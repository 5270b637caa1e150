// Batches: what is wrong with one as a whole, and with what is in it.

import { type BadRequest, BATCH, GOOD } from './case.ts';

const WRONG = { ...GOOD, action: 'wrong' };
const refused = (name: string, body: unknown, status: number, code: string, field?: string): BadRequest => ({
  name,
  path: BATCH,
  body,
  status,
  code,
  ...(field === undefined ? {} : { field }),
});

export const BATCH_CASES: readonly BadRequest[] = [
  refused('a batch without events', {}, 422, 'VALIDATION_FAILED', 'events'),
  refused('a batch whose events are null', { events: null }, 422, 'VALIDATION_FAILED', 'events'),
  refused('a batch of no events', { events: [] }, 400, 'BATCH_SIZE_INVALID'),
  refused(
    'a batch of 1001 events',
    { events: Array.from({ length: 1001 }, () => GOOD) },
    400,
    'BATCH_SIZE_INVALID',
  ),
  refused(
    'a batch of 1001 wrong events',
    { events: Array.from({ length: 1001 }, () => 5) },
    400,
    'BATCH_SIZE_INVALID',
  ),
  refused('events that are a text', { events: 'x' }, 422, 'VALIDATION_FAILED', 'events'),
  refused('events that are an object', { events: {} }, 422, 'VALIDATION_FAILED', 'events'),
  refused('an unknown member', { events: [GOOD], dryRun: true }, 422, 'VALIDATION_FAILED', 'dryRun'),
  refused(
    'transactional as a text',
    { events: [GOOD], transactional: 'yes' },
    422,
    'VALIDATION_FAILED',
    'transactional',
  ),
  refused('one wrong event', { events: [WRONG] }, 422, 'BATCH_REJECTED'),
  refused('an event that is a number', { events: [5] }, 422, 'BATCH_REJECTED'),
  refused('an event that is null', { events: [null] }, 422, 'BATCH_REJECTED'),
  refused('an event that is a list', { events: [[]] }, 422, 'BATCH_REJECTED'),
  refused('only wrong events', { events: [WRONG, WRONG, {}] }, 422, 'BATCH_REJECTED'),
  refused(
    'a wrong event among sound ones, transactional',
    { events: [GOOD, WRONG, GOOD], transactional: true },
    422,
    'BATCH_REJECTED',
  ),
  refused(
    'an event of another tenant, transactional',
    { events: [GOOD, { ...GOOD, tenantId: 'globex' }], transactional: true },
    422,
    'BATCH_REJECTED',
  ),
  refused(
    'two events of one id, transactional',
    {
      events: [GOOD, { ...GOOD, action: 'Delete.Order' }].map((event) => ({
        ...event,
        eventId: '01KE0000000000000000000042',
      })),
      transactional: true,
    },
    422,
    'BATCH_REJECTED',
  ),
  refused(
    'a batch of over 10 MB',
    { events: Array.from({ length: 200 }, () => ({ ...GOOD, payload: { t: 'x'.repeat(53_000) } })) },
    400,
    'REQUEST_TOO_LARGE',
  ),
];
