// What the load generators have in common: they warm up, count for so long what is answered, and print one line of JSON.

import { percentile } from '../measure.ts';

export interface LoadSeen {
  readonly requestsPerSecond: number;
  readonly eventsPerSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly refused: Readonly<Record<string, number>>;
}

/** Different requests, so that nothing gains from seeing the same one again; few, so that they stay in the cache. */
export const BODIES = 64;
export const WARM_UP_MS = 500;

/** Of each request, how long it took, or why it was refused. */
export type Tell = (latencyMs: number, refusal?: string | number) => void;

export interface Observed {
  readonly durationMs: number;
  readonly eventsPerRequest: number;
}

/** `begin` keeps the service busy until what it returns is called. */
export async function observed(
  { durationMs, eventsPerRequest }: Observed,
  begin: (tell: Tell) => () => void,
): Promise<never> {
  const latencies: number[] = [];
  const refused: Record<string, number> = {};
  let isCounting = false;
  const end = begin((latencyMs, refusal) => {
    if (!isCounting) return;
    if (refusal === undefined) latencies.push(latencyMs);
    else refused[refusal] = (refused[refusal] ?? 0) + 1;
  });
  await pause(WARM_UP_MS);
  isCounting = true;
  const startedAt = performance.now();
  await pause(durationMs);
  isCounting = false;
  const seconds = (performance.now() - startedAt) / 1000;
  end();
  const seen: LoadSeen = {
    requestsPerSecond: latencies.length / seconds,
    eventsPerSecond: (latencies.length * eventsPerRequest) / seconds,
    p50Ms: percentile(latencies, 0.5),
    p95Ms: percentile(latencies, 0.95),
    p99Ms: percentile(latencies, 0.99),
    refused,
  };
  process.stdout.write(`${JSON.stringify(seen)}\n`);
  process.exit(0);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
