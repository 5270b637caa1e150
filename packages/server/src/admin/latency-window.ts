// How long requests took over the last minutes, in constant memory: counts in buckets of growing width, four to each
// doubling, from 1 µs to 67 s. A percentile is thus at most a quarter off, and off by no more than 1 µs below 4 µs. The
// time is cut into slots of two minutes, of which the last three are kept, so a report covers the last 4 to 6 minutes.
// Recording a latency allocates nothing. Slots are judged by their time when they are read, so a window that was idle
// for long enough is as good as a new one.

import type { Percentiles } from '@tallystick/contract';
import type { LatelyMeasured } from './work-figures.ts';

export const SLOT_NS = 120 * 1e9;
export const SLOTS = 3;
/** A window without a value for this long is empty. */
export const WINDOW_NS = SLOTS * SLOT_NS;

const BUCKETS = 100;
const BEYOND_US = 2 ** 26;

export class LatencyWindow {
  /** The buckets of one slot behind those of another. */
  readonly #counts = new Uint32Array(SLOTS * BUCKETS);
  /** The number of the slot that each place holds; none at first. */
  readonly #slots = Array.from({ length: SLOTS }, () => -1);

  note(spanNs: number, nowNs: number): void {
    const slot = Math.floor(nowNs / SLOT_NS);
    const place = slot % SLOTS;
    if (this.#slots[place] !== slot) {
      this.#slots[place] = slot;
      this.#counts.fill(0, place * BUCKETS, (place + 1) * BUCKETS);
    }
    this.#counts[place * BUCKETS + bucketOf(spanNs / 1000)]! += 1;
  }

  /** Undefined if there were no values. */
  percentiles(nowNs: number): Percentiles | undefined {
    return this.measured(nowNs)?.percentiles;
  }

  /** The same, with their number. */
  measured(nowNs: number): LatelyMeasured | undefined {
    const counts = this.#sum(nowNs);
    const count = counts.reduce((sum, each) => sum + each, 0);
    if (count === 0) return undefined;
    const at = (part: number) => toMs(valueAt(counts, Math.ceil(count * part)));
    return { count, percentiles: { p50: at(0.5), p95: at(0.95), p99: at(0.99) } };
  }

  #sum(nowNs: number): Float64Array {
    const sum = new Float64Array(BUCKETS);
    const oldest = Math.floor(nowNs / SLOT_NS) - SLOTS + 1;
    for (const [place, slot] of this.#slots.entries()) {
      if (slot < oldest) continue;
      for (let i = 0; i < BUCKETS; i++) sum[i]! += this.#counts[place * BUCKETS + i]!;
    }
    return sum;
  }
}

/** Below 4 µs one bucket for each; from there on the two bits behind the first one tell which of the four it is. */
export function bucketOf(us: number): number {
  if (!(us < BEYOND_US)) return BUCKETS - 1;
  const whole = us > 0 ? us | 0 : 0;
  if (whole < 4) return whole;
  const exponent = 31 - Math.clz32(whole);
  return (exponent - 1) * 4 + ((whole >>> (exponent - 2)) & 3);
}

/** The least microseconds of a bucket; each ends where the next one begins. */
export function leastOf(bucket: number): number {
  return bucket < 4 ? bucket : (4 + (bucket & 3)) * 2 ** ((bucket >> 2) - 1);
}

/** Assumes that the values of a bucket are spread evenly. */
function valueAt(counts: Float64Array, rank: number): number {
  let before = 0;
  for (const [bucket, count] of counts.entries()) {
    if (before + count >= rank) {
      const least = leastOf(bucket);
      return least + ((leastOf(bucket + 1) - least) * (rank - before)) / count;
    }
    before += count;
  }
  throw new Error('the rank is over the count');
}

function toMs(us: number): number {
  return Math.round(us) / 1000;
}
