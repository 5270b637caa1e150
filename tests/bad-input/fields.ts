// Events whose fields break a rule: 422, and the field is named.

import { type BadRequest, GOOD, SINGLE } from './case.ts';

const { actor, resource } = GOOD;
const long = (length: number) => 'x'.repeat(length);

/** Field, value, and where the value stands in the event. */
const WRONG: readonly (readonly [field: string, value: unknown, event?: object])[] = [
  // Members that must be there, null included.
  ...(['timestamp', 'actor', 'action', 'resource'] as const).flatMap((field) => [
    [field, undefined] as const,
    [field, null] as const,
  ]),
  ['actor.actorType', undefined, { actor: { userId: 'u-1' } }],
  ['resource.resourceType', undefined, { resource: { resourceId: 'INV-42' } }],
  ['resource.resourceId', undefined, { resource: { resourceType: 'Invoice' } }],

  // Types.
  ...[5, true, [], 'text'].map((value) => ['actor', value] as const),
  ...[5, true, [], 'text'].map((value) => ['resource', value] as const),
  ...[5, true, [], {}].map((value) => ['action', value] as const),
  ...[5, true, [], {}].map((value) => ['timestamp', value] as const),
  ...[5, 'text', [], true].map((value) => ['payload', value] as const),
  ...[5, 'text', [], true].map((value) => ['context', value] as const),

  // Verb.Noun.
  ...[
    'Delete',
    'Delete.',
    '.Invoice',
    'Delete.Invoice.Line',
    'Delete Invoice',
    'Delete.Invoic3',
    'Delete-Invoice',
    'Délete.Invoice',
    'Delete.Invoice\n',
    ' Delete.Invoice',
    'a.',
    '',
    `${long(60)}.${long(60)}`,
  ].map((value) => ['action', value] as const),

  // Who and what.
  ...['user', '', 'Robot', 5, null].map(
    (value) => ['actor.actorType', value, { actor: { ...actor, actorType: value } }] as const,
  ),
  ...['', long(513), 5].map(
    (value) => ['actor.userId', value, { actor: { ...actor, userId: value } }] as const,
  ),
  ...['', long(321), {}].map(
    (value) => ['actor.userName', value, { actor: { ...actor, userName: value } }] as const,
  ),
  ...['', long(513)].map(
    (value) => ['actor.serviceId', value, { actor: { ...actor, serviceId: value } }] as const,
  ),
  ...['', long(513)].map(
    (value) => ['actor.serviceName', value, { actor: { ...actor, serviceName: value } }] as const,
  ),
  ...['', long(513), 42].map(
    (value) => ['resource.resourceId', value, { resource: { ...resource, resourceId: value } }] as const,
  ),
  ...['', long(513)].map(
    (value) => ['resource.resourceType', value, { resource: { ...resource, resourceType: value } }] as const,
  ),
  ...['', long(513)].map(
    (value) => ['resource.resourceName', value, { resource: { ...resource, resourceName: value } }] as const,
  ),

  // Fields that nobody knows.
  ['Action', 'Delete.Invoice'],
  ['sequence', 1],
  ['__proto__', 1, JSON.parse('{"__proto__":1}') as object],
  ['actor.role', 'x', { actor: { ...actor, role: 'x' } }],
  ['resource.owner', 'x', { resource: { ...resource, owner: 'x' } }],

  // Ids and words.
  ...['x', '', 5, '7d3f0c526a3e4b519a0e2f6b1f3c9d11', '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d1g'].map(
    (value) => ['correlationId', value] as const,
  ),
  ...[
    'x',
    '',
    5,
    '01KE000000000000000000004',
    '01KE00000000000000000000420',
    '81KE0000000000000000000042',
    '01KE000000000000000000004I',
    '01ke0000000000000000000042',
  ].map((value) => ['eventId', value] as const),
  ...['success', '', 5, 'Error'].map((value) => ['outcome', value] as const),
  ...['secret', '', 5, 'TopSecret'].map((value) => ['classification', value] as const),
  ['tenantId', 5],

  // Instants.
  ...[
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-02T24:00:00Z',
    '2026-01-02T03:60:00Z',
    '2026-01-02T03:04:60Z',
    '2026-01-02T03:04:05',
    '2026-01-02',
    '2026-01-02 03:04:05Z',
    '2026-01-02T03:04:05.1234567890Z',
    '2026-01-02T03:04:05.Z',
    '2026-01-02T03:04:05+25:00',
    '2026-01-02T03:04:05+01:60',
    '2026-01-02T03:04:05+0100',
    '2026-1-2T3:4:5Z',
    '12026-01-02T03:04:05Z',
    ' 2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05Z ',
    '',
    'yesterday',
    '1767323045',
    '9999-12-31T23:59:59-01:00',
    '0000-01-01T00:00:00+01:00',
    '3000-01-01T00:00:00Z',
  ].map((value) => ['timestamp', value] as const),
];

function shown(value: unknown): string {
  return value === undefined ? 'missing' : (JSON.stringify(value) ?? '').slice(0, 40);
}

const sized = (bytes: number) => ({ t: 'x'.repeat(bytes - '{"t":""}'.length) });
/** Each letter is two bytes. */
const sizedInBytes = (bytes: number) => ({ t: 'ä'.repeat((bytes - '{"t":""}'.length) / 2) });

export const FIELD_CASES: readonly BadRequest[] = [
  ...WRONG.map(
    ([field, value, members]): BadRequest => ({
      name: `${field} ${shown(value)}`,
      path: SINGLE,
      body: { ...GOOD, ...(members ?? { [field]: value }) },
      status: 422,
      code: 'VALIDATION_FAILED',
      field: field === '__proto__' ? '__proto__' : field,
    }),
  ),
  {
    name: 'a payload of 65,537 bytes',
    path: SINGLE,
    body: { ...GOOD, payload: sized(65_537) },
    status: 422,
    code: 'PAYLOAD_TOO_LARGE',
    field: 'payload',
  },
  {
    name: 'a payload of fewer characters and too many bytes',
    path: SINGLE,
    body: { ...GOOD, payload: sizedInBytes(65_538) },
    status: 422,
    code: 'PAYLOAD_TOO_LARGE',
    field: 'payload',
  },
  {
    name: 'a payload that is too large, and something else',
    path: SINGLE,
    body: { ...GOOD, payload: sized(65_537), action: 'x' },
    status: 422,
    code: 'VALIDATION_FAILED',
    field: 'payload',
  },
  {
    name: 'a context of 65,537 bytes',
    path: SINGLE,
    body: { ...GOOD, context: sized(65_537) },
    status: 422,
    code: 'PAYLOAD_TOO_LARGE',
    field: 'context',
  },
  {
    name: 'another tenant in the body',
    path: SINGLE,
    body: { ...GOOD, tenantId: 'globex' },
    status: 403,
    code: 'TENANT_MISMATCH',
  },
  {
    name: 'another tenant in the body, and a wrong field',
    path: SINGLE,
    body: { ...GOOD, tenantId: 'globex', action: 'x' },
    status: 403,
    code: 'TENANT_MISMATCH',
  },
  {
    name: 'a body of over 1 MB',
    path: SINGLE,
    body: { ...GOOD, payload: { t: 'x'.repeat(1_048_576) } },
    status: 400,
    code: 'REQUEST_TOO_LARGE',
  },
];
