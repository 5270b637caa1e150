// The dashboard against the types of Grafana's own SDK, which says of each member what it may be.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { readText, ROOT } from '../source.ts';

const SDK = '@grafana/grafana-foundation-sdk@0.0.21';

/** The SDK has enumerations where JSON has their values, and knows queries of all data sources together only as an empty type. */
const TYPES = `
import type { Dashboard, Panel, RowPanel } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Dataquery } from '@grafana/grafana-foundation-sdk/prometheus';
type Written<T> = T extends string ? \`\${T}\`
  : T extends number ? T | (\`\${T}\` extends \`\${infer N extends number}\` ? N : never)
  : T extends (infer I)[] ? Written<I>[]
  : T extends object ? { [K in keyof T]: Written<T[K]> } : T;
type OurQuery = Written<Omit<Dataquery, '_implementsDataqueryVariant'>>;
type OurPanel = Written<Omit<Panel, 'targets'>> & { targets: OurQuery[] };
type OurDashboard = Written<Omit<Dashboard, 'panels'>> & { panels: (OurPanel | Written<RowPanel>)[] };
export const dashboard: OurDashboard = `;

const OPTIONS = '--noEmit --strict --skipLibCheck --module nodenext --moduleResolution nodenext'.split(' ');

it('the dashboard is one that Grafana knows, member by member', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-grafana-'));
  const faults = (dashboard: string) => {
    writeFileSync(join(folder, 'dashboard.ts'), `${TYPES}${dashboard};\n`);
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    return spawnSync(tsc, [...OPTIONS, 'dashboard.ts'], { cwd: folder, encoding: 'utf8' }).stdout;
  };
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    execFileSync('npm', ['install', '--silent', '--ignore-scripts', SDK], { cwd: folder });
    const dashboard = readText('deploy/grafana/tallystick.json');
    assert.equal(faults(dashboard), '');
    assert.match(faults(dashboard.replace('"gridPos"', '"gridPlace"')), /gridPlace/, 'faults are found');
    assert.match(faults(dashboard.replace('"mode": "absolute"', '"mode": "relative"')), /relative/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
