// Events of every shape that the interface takes, the texts that the log must have of each, and ways to spell one and
// the same event as JSON.

import * as fc from 'fast-check';

export interface AnyEvent {
  /** As it is sent. */
  readonly sent: Readonly<Record<string, unknown>>;
  /** Its timestamp in UTC, as it is kept. */
  readonly timestamp: string;
}

const anyText = fc
  .oneof(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.string({ unit: 'binary', maxLength: 12 }))
  .filter((text) => text.isWellFormed() && !text.includes('\0'));
/** Without what has to be escaped: as nearly all texts are, and what is read fastest. */
const usualText = anyText.map((text) => text.replaceAll(/["\\\p{Cc}]/gu, '·'));

const ODD_NUMBERS = [
  0,
  -0,
  1e21,
  1e20,
  -1e20,
  2 ** 53,
  5e-324,
  1.7976931348623157e308,
  0.1,
  1e-7,
  333333333.3,
];
const number = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(...ODD_NUMBERS),
);
const ODD_KEYS = [
  '',
  '__proto__',
  'toString',
  '10',
  '9',
  'a/b',
  'a~b',
  '~1',
  'é',
  '😀',
  'ﬀ',
  '\u2028',
  '\ufeff',
];

/** An object of the producer's own; most of them small, some past the bounds within which they are opened. */
function contentOf(text: fc.Arbitrary<string>): fc.Arbitrary<Record<string, unknown>> {
  const key = fc.oneof({ weight: 4, arbitrary: text }, fc.constantFrom(...ODD_KEYS));
  const { content } = fc.letrec<{ content: Record<string, unknown>; value: unknown }>((tie) => ({
    content: fc.dictionary(key, tie('value'), { maxKeys: 6, noNullPrototype: true }),
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      text,
      number,
      fc.constantFrom(null, true, false, '\u2028', '\ufeff', '\u007f'),
      fc.array(tie('value'), { maxLength: 4 }),
      tie('content'),
    ),
  }));
  const crowded = fc.integer({ min: 239, max: 242 }).map((count) => {
    return Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
  });
  const longKeyed = fc.integer({ min: 126, max: 130 }).map((length) => ({ a: 1, ['é'.repeat(length)]: 2 }));
  return fc.oneof(
    { weight: 40, arbitrary: content },
    { weight: 1, arbitrary: crowded },
    { weight: 1, arbitrary: longKeyed },
  );
}

const two = (value: number) => String(value).padStart(2, '0');

/** An instant, spelled in some zone and with some fraction; and as it is kept. */
const timestamp = fc
  .record({
    atMs: fc.integer({ min: Date.parse('0000-01-02T00:00:00Z'), max: Date.UTC(2026, 0, 1) }),
    fraction: fc.oneof(fc.constant(''), fc.stringMatching(/^\.[0-9]{1,9}$/)),
    zoneMinutes: fc.oneof({ weight: 7, arbitrary: fc.constant(0) }, fc.integer({ min: -839, max: 839 })),
    spelling: fc.constantFrom('Z', 'Z', 'Z', 'Z', 'Z', 'Z', 'z', '+00:00'),
  })
  .map(({ atMs, fraction, zoneMinutes, spelling }) => {
    const secondsAt = (ms: number) => new Date(ms).toISOString().slice(0, -5);
    const [hours, minutes] = [Math.floor(Math.abs(zoneMinutes) / 60), Math.abs(zoneMinutes) % 60];
    const zone = zoneMinutes === 0 ? spelling : `${zoneMinutes < 0 ? '-' : '+'}${two(hours)}:${two(minutes)}`;
    return {
      sent: `${secondsAt(atMs + zoneMinutes * 60_000)}${fraction}${zone}`,
      kept: `${secondsAt(atMs)}${fraction === '' ? '.000' : fraction}Z`,
    };
  });

function eventOf(text: fc.Arbitrary<string>): fc.Arbitrary<AnyEvent> {
  const name = text.map((any) => (any === '' ? 'x' : any));
  const letters = fc.stringMatching(/^[A-Za-z]{1,20}$/);
  const members = fc.record(
    {
      action: fc.tuple(letters, letters).map((words) => words.join('.')),
      actor: fc.record(
        {
          actorType: fc.constantFrom('User', 'Service', 'System'),
          userId: name,
          userName: name,
          serviceId: name,
          serviceName: name,
        },
        { requiredKeys: ['actorType'] },
      ),
      resource: fc.record(
        { resourceType: name, resourceId: name, resourceName: name },
        { requiredKeys: ['resourceType', 'resourceId'] },
      ),
      context: contentOf(text),
      payload: contentOf(text),
      correlationId: fc.uuid(),
      outcome: fc.constantFrom('Success', 'Failure', 'Denied'),
      classification: fc.constantFrom('Public', 'Internal', 'Confidential', 'Secret'),
    },
    { requiredKeys: ['action', 'actor', 'resource'] },
  );
  return fc
    .tuple(members, timestamp)
    .map(([sent, { sent: text, kept }]) => ({ sent: { ...sent, timestamp: text }, timestamp: kept }));
}

/** Batches, most of them of usual texts. */
export function anyBatch(size: number): fc.Arbitrary<AnyEvent[]> {
  const batchOf = (text: fc.Arbitrary<string>) =>
    fc.array(eventOf(text), { minLength: size, maxLength: size });
  return fc.oneof({ weight: 4, arbitrary: batchOf(usualText) }, { weight: 1, arbitrary: batchOf(anyText) });
}
