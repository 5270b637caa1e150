// How this project measures. Machines are shared and noisy, so a figure counts only beside another one of
// the same run: contenders take turns, each keeps its best round, and what is reported is a ratio.

export interface Contender {
  name: string;
  /** Does one round of work and says how many units of it were done. */
  run: () => number | Promise<number>;
}

export interface Measured {
  name: string;
  unitsPerSecond: number;
}

export interface Row {
  /** What was measured, for example "leaf of the standard event, one call a pool". */
  name: string;
  /** The absolute figure, for orientation only. */
  figure: string;
  /** Against what, and the ratio to it. */
  against?: string;
  ratio?: number;
  /** The median of the ratios turn by turn: what one lucky turn of either side does not move. */
  medianRatio?: number;
  goal?: string;
}

export interface Benchmark {
  name: string;
  title: string;
  run: () => Promise<Row[]>;
}

/** Runs every contender once in turn, `rounds` times over, and keeps the best round of each. */
export async function takeTurns(contenders: readonly Contender[], rounds = 5): Promise<Measured[]> {
  const best = contenders.map(() => 0);
  for (const contender of contenders) await contender.run(); // warm up: compile, fill caches
  for (let round = 0; round < rounds; round++) {
    for (const [i, contender] of contenders.entries()) {
      const start = process.hrtime.bigint();
      const units = await contender.run();
      const seconds = Number(process.hrtime.bigint() - start) / 1e9;
      best[i] = Math.max(best[i]!, units / seconds);
    }
  }
  return contenders.map(({ name }, i) => ({ name, unitsPerSecond: best[i]! }));
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

/** The value that such a share of them does not exceed; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}

/** Percentiles of times, as they stand in the table. */
export function percentilesText(timesMs: readonly number[], shares: readonly number[]): string {
  const texts = shares.map((share) => `p${share * 100} ${percentile(timesMs, share).toFixed(2)}`);
  return `${texts.join(' ')} ms`;
}
