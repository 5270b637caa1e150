// npm run bench [-- NAME…]: runs the benchmarks, prints one table, writes one JSON file to bench/results/.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Benchmark, Row } from './measure.ts';

const BENCHMARKS: Record<string, () => Promise<{ benchmark: Benchmark }>> = {
  sha256: () => import('./sha256.ts'),
  'strict-json': () => import('./strict-json.ts'),
  evidence: () => import('./evidence.ts'),
  conditions: () => import('./conditions.ts'),
  ingest: () => import('./ingest.ts'),
  'ingest-postgres': async () => ({ benchmark: (await import('./ingest.ts')).onPostgres }),
  policies: () => import('./policies.ts'),
  'policies-postgres': async () => ({ benchmark: (await import('./policies.ts')).onPostgres }),
  sealing: () => import('./sealing.ts'),
  'sealing-postgres': async () => ({ benchmark: (await import('./sealing.ts')).onPostgres }),
  'nodes-postgres': () => import('./nodes.ts'),
  store: () => import('./store.ts'),
  proofs: () => import('./proofs.ts'),
  reading: () => import('./reading.ts'),
  'reading-postgres': async () => ({ benchmark: (await import('./reading.ts')).onPostgres }),
  sustained: () => import('./sustained.ts'),
  'sustained-postgres': async () => ({ benchmark: (await import('./sustained.ts')).onPostgres }),
  jobs: () => import('./jobs.ts'),
  'jobs-postgres': async () => ({ benchmark: (await import('./jobs.ts')).onPostgres }),
  purge: () => import('./purge.ts'),
  'purge-postgres': async () => ({ benchmark: (await import('./purge.ts')).onPostgres }),
  exports: () => import('./exports.ts'),
  'exports-postgres': async () => ({ benchmark: (await import('./exports.ts')).onPostgres }),
  protocols: () => import('./protocols.ts'),
  webhooks: () => import('./webhooks.ts'),
  'webhooks-postgres': async () => ({ benchmark: (await import('./webhooks.ts')).onPostgres }),
  outbound: () => import('./outbound.ts'),
  peers: () => import('./peers.ts'),
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in BENCHMARKS));
if (unknown.length > 0) {
  process.stderr.write(
    `no benchmark ${unknown.join(', ')}; there are ${Object.keys(BENCHMARKS).join(', ')}\n`,
  );
  process.exit(2);
}

const results: Record<string, Row[]> = {};
for (const [name, load] of Object.entries(BENCHMARKS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const { benchmark } = await load();
  process.stdout.write(`\n${benchmark.name}: ${benchmark.title}\n`);
  results[name] = await benchmark.run();
  for (const row of results[name]) process.stdout.write(`  ${line(row)}\n`);
}

const folder = join(import.meta.dirname, 'results');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'latest.json'), `${JSON.stringify(results, null, 2)}\n`);

function line(row: Row): string {
  const turns = row.medianRatio === undefined ? '' : ` (median of turns ${row.medianRatio.toFixed(2)})`;
  const ratio = row.ratio === undefined ? '' : `${row.ratio.toFixed(2)} of ${row.against}${turns}`;
  return `${row.name.padEnd(58)} ${row.figure.padStart(18)}   ${ratio.padEnd(48)} ${row.goal ?? ''}`.trimEnd();
}
