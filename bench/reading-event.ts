// Events as a busy tenant has them, for benchmarks of reading: about 1,000 bytes each, few actions, some thousand actors,
// as many resources as events, notes of common and of rare words. The same index gives the same event.

/** So long ago that those of ten million lie in the past. */
export const FIRST_TIMESTAMP_MS = Date.UTC(2016, 0, 1);
export const SPACING_MS = 20_000;
const ACTIONS = ['Read', 'Create', 'Update', 'Delete', 'Approve', 'Export'].flatMap((verb) =>
  ['Invoice', 'User', 'Order', 'Contract', 'Payment', 'Report'].map((noun) => `${verb}.${noun}`),
);
const WORDS =
  'the customer asked for a refund because delivery was late and support has approved it after review of order contract and payment by team lead in office with note attached to file for audit next quarter'.split(
    ' ',
  );
const ACTORS = 5000;
const RARE_WORDS = 20_000;
const CLASSES = ['Internal', 'Internal', 'Internal', 'Confidential'] as const;

export function readingEvent(index: number) {
  const dice = mixed(index);
  const action = ACTIONS[Math.min(dice % 61, dice % ACTIONS.length)]!;
  const actor = Math.floor(((dice >>> 6) % ACTORS) ** 2 / ACTORS);
  const words = Array.from({ length: 75 }, (_, i) => WORDS[(dice + i * (3 + (index % 7))) % WORDS.length]);
  words.push(`word${mixed(dice) % RARE_WORDS}`);
  return {
    // Not quite in the order in which they are sent.
    timestamp: new Date(FIRST_TIMESTAMP_MS + index * SPACING_MS + (dice % 600_000)).toISOString(),
    actor: { actorType: 'User', userId: `u-${actor}`, userName: `person.${actor}@acme.test` },
    action,
    resource: { resourceType: action.slice(action.indexOf('.') + 1), resourceId: `R-${index}` },
    classification: CLASSES[dice % CLASSES.length],
    outcome: dice % 50 === 0 ? 'Denied' : 'Success',
    context: {
      ipAddress: `203.0.113.${dice % 250}`,
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Chrome/131.0',
    },
    payload: {
      amount: (dice % 1_000_000) / 100,
      currency: 'EUR',
      approved: dice % 3 === 0,
      lines: [{ sku: `sku-${dice % 900}`, quantity: (dice % 9) + 1, price: (dice % 70_000) / 100 }],
      note: words.join(' '),
      file: `archive/2026/${dice % 12}/documents/${mixed(index + 2).toString(16)}.pdf`,
    },
  };
}

/** A number that looks like chance, from 0. */
function mixed(index: number): number {
  let x = (index + 0x9e3779b9) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
