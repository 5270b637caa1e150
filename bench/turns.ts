// Loads that take turns, so that the other load of the machine affects all of them, and the rows of a table that compare
// what they saw. BENCH_ROUNDS sets another number of rounds.

import { median, type Row } from './measure.ts';
import type { LoadSeen } from './processes/observed.ts';

/** A process, or several, that can be made to stand still. */
export interface Stoppable {
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

export interface LoadContender {
  readonly name: string;
  readonly turn: (durationMs: number) => Promise<LoadSeen>;
  /**
   * What stands still meanwhile, because what it has left to do would be taken for the cost of this one. Not for as long as a
   * service waits for its database: it would take that for gone.
   */
  readonly without?: readonly Stoppable[];
}

export interface TurnOptions {
  readonly rounds: number;
  /** Done before each turn. */
  readonly before?: () => Promise<void>;
}

export type Turns = readonly LoadSeen[];

const DURATION_MS = 2000;
/** Makes the tenants, and lets the compilers finish: the rate still rises after four seconds. */
const WARM_UP_MS = 6000;
/** What stood still does next what it had begun. */
const THAWED_MS = 300;

/**
 * Only what is compared takes turns: a server that is asked for something else in between compiles its code anew for seconds,
 * and that time would be taken for its own.
 */
export async function inTurns(
  contenders: readonly LoadContender[],
  { rounds, before }: TurnOptions,
): Promise<Turns[]> {
  const seen = contenders.map((): LoadSeen[] => []);
  for (const { name, turn } of contenders) await taken({ name, turn }, WARM_UP_MS);
  for (let round = 0; round < Number(process.env['BENCH_ROUNDS'] ?? rounds); round++) {
    for (const [i, contender] of contenders.entries()) {
      await before?.();
      seen[i]!.push(await taken(contender, DURATION_MS));
    }
  }
  return seen;
}

async function taken({ name, turn, without = [] }: LoadContender, durationMs: number): Promise<LoadSeen> {
  try {
    for (const each of without) await each.freeze();
    const seen = await turn(durationMs);
    if (Object.keys(seen.refused).length > 0) throw new Error(`${name}: ${JSON.stringify(seen.refused)}`);
    process.stderr.write(`  ${name}: ${Math.round(seen.eventsPerSecond)}/s\n`);
    return seen;
  } finally {
    for (const each of without.toReversed()) await each.thaw();
    if (without.length > 0) await new Promise((resolve) => setTimeout(resolve, THAWED_MS));
  }
}

export function figureRow(name: string, turns: Turns): Row {
  const { eventsPerSecond, p99Ms } = bestOf(turns);
  return { name, figure: `${Math.round(eventsPerSecond)}/s p99 ${p99Ms.toFixed(1)} ms` };
}

/** `best` of the other are the turns of which the best one counts, if not only those beside. */
export function ratioRow(
  name: string,
  turns: Turns,
  { against, beside, best = beside, goal }: Comparison,
): Row {
  return {
    ...figureRow(name, turns),
    against,
    ratio: bestOf(turns).eventsPerSecond / bestOf(best).eventsPerSecond,
    medianRatio: median(turns.map((turn, i) => turn.eventsPerSecond / beside[i]!.eventsPerSecond)),
    ...(goal === undefined ? {} : { goal }),
  };
}

export interface Comparison {
  readonly against: string;
  /** Turn by turn. */
  readonly beside: Turns;
  /** Those of which the best counts, if there were more. */
  readonly best?: Turns;
  readonly goal?: string;
}

function bestOf(turns: Turns): LoadSeen {
  return turns.reduce((best, turn) => (turn.eventsPerSecond > best.eventsPerSecond ? turn : best));
}
