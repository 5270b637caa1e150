// The page of limits, with values in the units that people think in.

import { LIMIT_GROUPS, RETRY_DELAYS_MS, SERVICE_LEVELS } from '../limits.ts';
import { code, page, table } from './markdown.ts';

const SPANS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1000, 'second'],
] as const;

const plural = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`;

function spanText(ms: number): string {
  const fitting = SPANS.find(([size]) => ms >= size && ms % size === 0);
  return fitting ? plural(ms / fitting[0], fitting[1]) : plural(ms, 'millisecond');
}

function bytesText(bytes: number): string {
  const isMega = bytes % 1_048_576 === 0;
  return `${bytes.toLocaleString('en')} bytes (${isMega ? bytes / 1_048_576 : bytes / 1024} ${isMega ? 'MB' : 'KB'})`;
}

function valueText(name: string, value: number): string {
  if (name.includes('Bytes')) return bytesText(value);
  if (/Ms(Max)?$/.test(name)) return spanText(value);
  if (name.includes('Seconds')) return plural(value, 'second');
  if (name.endsWith('Percent')) return `${value} %`;
  return value.toLocaleString('en');
}

export function limitsTable(title: keyof typeof LIMIT_GROUPS): string {
  const group: Readonly<Record<string, readonly [number, string]>> = LIMIT_GROUPS[title];
  const rows = Object.entries(group).map(([name, [value, note]]) => [
    code(name),
    valueText(name, value),
    note,
  ]);
  return table(['limit', 'value', 'of what'], rows);
}

export function limitsPage(): string {
  const titles = Object.keys(LIMIT_GROUPS) as (keyof typeof LIMIT_GROUPS)[];
  const groups = titles.map((title) => `## ${title}\n\n${limitsTable(title)}`);
  const delays = RETRY_DELAYS_MS.map((ms, index) => [String(index + 1), ms === 0 ? 'none' : spanText(ms)]);
  const levels = Object.entries(SERVICE_LEVELS).map(([name, { p95, p99 }]) => [
    code(name),
    `${p95} ms`,
    `${p99} ms`,
  ]);
  const sections = [
    ...groups,
    `## Retry schedule\n\nThe delay before each attempt of a webhook delivery.\n\n${table(['attempt', 'delay'], delays)}`,
    `## Service levels\n\nWhat the service aims at; availability is 99.9 %.\n\n${table(['figure', 'P95', 'P99'], levels)}`,
  ];
  return page(
    'Limits',
    'The names are those of the contract package; sizes count bytes after decompression.',
    sections,
  );
}
