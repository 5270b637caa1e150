// The dashboard and the alerts in deploy/ against docs/operating/metrics.md, whose table another test holds against the service. What
// Prometheus and Grafana themselves make of them is tested in outside/.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BOUNDS } from '../packages/server/src/admin/duration-histogram.ts';
import { readText } from './source.ts';

const ALERTS = 'deploy/prometheus/alerts.yml';
const EXAMPLES = 'deploy/prometheus/alerts.test.yml';
const DASHBOARD = 'deploy/grafana/tallystick.json';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

const { panels } = JSON.parse(readText(DASHBOARD)) as { readonly panels: readonly Panel[] };
const alertNames = [...readText(ALERTS).matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);
const recorded = [...readText(ALERTS).matchAll(/- record: (\S+)/g)].map(([, name]) => name!);

/** Names and labels of all series that Prometheus is asked for. */
function seriesIn(
  text: string,
): { readonly name: string; readonly labels: readonly (readonly [string, string])[] }[] {
  const own = [...text.matchAll(/\b((?:tallystick|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)];
  return own.map(([, name, labels = '']) => ({
    name: name!,
    labels: [...labels.matchAll(/(\w+)=~?"([^"]*)"/g)].map(([, label, value]) => [label!, value!] as const),
  }));
}

/** By name: its type and labels, those that Prometheus adds included. */
const documented = new Map(
  [...readText('docs/operating/metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \|/gm)].map(
    ([, name, type, labels]) => [
      name!,
      {
        type: type!,
        labels: [...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label!).concat('job', 'instance'),
      },
    ],
  ),
);

function faultsOf({ name, labels }: ReturnType<typeof seriesIn>[number]): string[] {
  const base = name.replace(/_(bucket|sum|count)$/, '');
  const metric = documented.get(name) ?? documented.get(base);
  if (metric === undefined) return [`${name} is no metric`];
  if (!documented.has(name) && !['histogram', 'summary'].includes(metric.type))
    return [`${base} has no ${name}`];
  return labels.flatMap(([label, value]) => {
    if (!metric.labels.includes(label)) return [`${name} has no label ${label}`];
    const isBound = label !== 'le' || BOUNDS.includes(Number(value));
    return isBound ? [] : [`${name} has no bucket up to ${value}`];
  });
}

describe('the dashboard and the alerts', () => {
  it('name only metrics, labels and buckets that the service has', () => {
    const dashboard = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    for (const [path, text] of [
      [DASHBOARD, dashboard.join('\n')],
      [ALERTS, readText(ALERTS)],
      [EXAMPLES, readText(EXAMPLES)],
    ] as const) {
      const asked = seriesIn(text);
      assert.ok(asked.length > 20, `${path} asks for something`);
      assert.deepEqual([...new Set(asked.flatMap(faultsOf))], [], path);
    }
    assert.deepEqual(
      faultsOf({ name: 'tallystick_dead_letters_sum', labels: [] }).length,
      1,
      'faults are found',
    );
  });

  it('use only series that are recorded, and all of those', () => {
    const used = [...readText(ALERTS).matchAll(/(tallystick:\w+:\w+) >/g)].map(([, name]) => name!);
    assert.deepEqual([...new Set(used)].toSorted(), recorded.toSorted());
  });
});

describe('alerts', () => {
  it('have names of their own, and each an example in which it fires', () => {
    assert.equal(new Set(alertNames).size, alertNames.length);
    const examples = readText(EXAMPLES);
    assert.deepEqual(
      alertNames.filter((name) => !examples.includes(`alertname="${name}"`)),
      [],
    );
  });
});

describe('panels of the dashboard', () => {
  it('have ids of their own, a title that says what is in them, and a place of their own', () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    const taken = new Map<string, string>();
    for (const { title, gridPos } of panels) {
      assert.ok(title.length > 0 && gridPos.x + gridPos.w <= 24, title);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          assert.equal(taken.get(`${x},${y}`), undefined, `${title} is on top of another`);
          taken.set(`${x},${y}`, title);
        }
    }
  });
});
