// How long things took since the start, as Prometheus counts them: how many were within each of a few bounds.

/** In seconds. */
export const BOUNDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];
const BOUNDS_NS = BOUNDS.map((bound) => bound * 1e9);

export class DurationHistogram {
  /** Between the bound before and this one; the last one is of those over all bounds. */
  readonly #counts = new Float64Array(BOUNDS.length + 1);
  #sumNs = 0;

  note(spanNs: number): void {
    let i = 0;
    while (i < BOUNDS_NS.length && spanNs > BOUNDS_NS[i]!) i++;
    this.#counts[i]! += 1;
    this.#sumNs += spanNs;
  }

  /** How many were within each bound, or any bound before it. */
  within(): readonly number[] {
    let sum = 0;
    return Array.from(this.#counts.subarray(0, BOUNDS.length), (count) => (sum += count));
  }

  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  get sumSeconds(): number {
    return this.#sumNs / 1e9;
  }
}
