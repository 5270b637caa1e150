// The metrics of the levels of service.

import type { Metric, ServiceLevel } from '@tallystick/contract';

/** Times in seconds. A level that too few requests speak for has a target alone. */
export function levelMetrics(levels: readonly ServiceLevel[]): Metric[] {
  const gaugeOf = (
    name: string,
    help: string,
    valueOf: (level: ServiceLevel) => number | undefined,
  ): Metric => ({
    name,
    type: 'Gauge',
    help,
    samples: levels.flatMap((level) => {
      const value = valueOf(level);
      return value === undefined ? [] : [{ labels: { level: level.name }, value }];
    }),
  });
  const inUnit = (value: number | undefined, { unit }: ServiceLevel) =>
    value === undefined || unit === 'Ratio' ? value : value / 1000;
  return [
    gaugeOf('tallystick_service_level', 'A level of service as it is now.', (level) =>
      inUnit(level.current, level),
    ),
    gaugeOf('tallystick_service_level_target', 'What it should be.', (level) => inUnit(level.target, level)),
    gaugeOf('tallystick_service_level_holds', '1 while it holds, 0 while it is missed.', ({ holds }) =>
      holds === undefined ? undefined : Number(holds),
    ),
  ];
}
