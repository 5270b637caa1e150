// The standard event as careful clients send it: with an `eventId`, with an `Idempotency-Key`, and with both, so that
// everything can be repeated safely. Against the same events without; the safe way must not be a slow way.

import type { Row } from './measure.ts';
import type { Load } from './processes/load.ts';
import { applyLoad } from './processes/processes.ts';
import { figureRow, inTurns, ratioRow, type TurnOptions } from './turns.ts';

/** A request without ids and without a key, and what it is called in the table. */
export interface BareLoad extends Omit<Load, 'durationMs' | 'care'> {
  readonly name: string;
}

interface Care {
  readonly name: string;
  readonly care: NonNullable<Load['care']>;
  readonly goal: string;
}

const CARES: readonly Care[] = [
  { name: 'with ids', care: { ids: true, key: false }, goal: '>= 0.85' },
  { name: 'with a key', care: { ids: false, key: true }, goal: '>= 0.95' },
  { name: 'with ids and a key', care: { ids: true, key: true }, goal: '>= 0.80' },
];

export async function measureCareful({ name, ...load }: BareLoad, rest: TurnOptions): Promise<Row[]> {
  const contender = (care: Care | undefined) => ({
    name: care === undefined ? name : `${name} ${care.name}`,
    turn: (durationMs: number) => applyLoad({ ...load, durationMs, ...(care && { care: care.care }) }),
  });
  const [bare = [], ...careful] = await inTurns([undefined, ...CARES].map(contender), rest);
  return [
    figureRow(`${name}, bare`, bare),
    ...careful.map((turns, i) => {
      const { name: how, goal } = CARES[i]!;
      return ratioRow(`${name}, ${how}`, turns, { against: 'bare', beside: bare, goal });
    }),
  ];
}
