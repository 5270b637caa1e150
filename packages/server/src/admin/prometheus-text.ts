// Metrics in the text format of Prometheus, version 0.0.4: for each of them what it means, its type, and a line for each
// value. Names and labels come from this code and from the contract; what could break out of its line is escaped all the
// same.

import type { Metric } from '@tallystick/contract';

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function prometheusText(metrics: readonly Metric[]): string {
  return metrics.map(textOf).join('');
}

function textOf({ name, type, help, samples }: Metric): string {
  const lines = samples.map(
    ({ suffix = '', labels, value }) => `${name}${suffix}${labelsText(labels)} ${value}\n`,
  );
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type.toLowerCase()}\n${lines.join('')}`;
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
