// The metrics of the process as a program: what it uses of its machine. Their names are those that services in Node commonly
// have (prom-client), so that dashboards for any of them show this one too.

import type { Metric } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import {
  COLLECTIONS,
  type Collection,
  type LoopLag,
  type ProcessFigures,
  watchProcess,
} from '../runtime/process-usage.ts';
import { DurationHistogram } from './duration-histogram.ts';
import { counter, gauge, histogramSamples, known } from './metrics.ts';

export interface UsageMetrics extends Disposable {
  read(): Promise<Metric[]>;
}

export function createUsageMetrics(clock: Pick<Clock, 'monotonicNs'>): UsageMetrics {
  const durations = new Map(COLLECTIONS.map((kind) => [kind, new DurationHistogram()]));
  const usage = watchProcess(clock, (kind, spanNs) => durations.get(kind)!.note(spanNs));
  return {
    async read() {
      const figures = await usage.read();
      return [
        ...machineMetrics(figures),
        ...heapMetrics(figures),
        ...lagMetrics(figures.loopLag),
        collectionMetric(durations),
        {
          name: 'nodejs_version_info',
          type: 'Gauge',
          help: 'Which Node runs it.',
          samples: [{ labels: { version: figures.nodeVersion }, value: 1 }],
        },
      ];
    },
    [Symbol.dispose]: () => usage[Symbol.dispose](),
  };
}

function machineMetrics(figures: ProcessFigures): Metric[] {
  const { cpuUserSeconds: user, cpuSystemSeconds: system } = figures;
  return [
    counter('process_cpu_user_seconds_total', 'Processor time in the program.', user),
    counter('process_cpu_system_seconds_total', 'Processor time in the system, for the program.', system),
    counter('process_cpu_seconds_total', 'Processor time, of all threads.', user + system),
    gauge('process_start_time_seconds', 'When the process began, since 1970.', figures.startedAtSeconds),
    gauge('process_resident_memory_bytes', 'Memory of the process in RAM.', figures.residentBytes),
    known('process_virtual_memory_bytes', 'Address space of the process.', figures.virtualBytes),
    known('process_open_fds', 'Open files, sockets among them.', figures.openFiles),
    known('process_max_fds', 'How many files the process may open.', figures.openFilesMax),
  ];
}

function heapMetrics({ heapTotalBytes, heapUsedBytes, externalBytes }: ProcessFigures): Metric[] {
  return [
    gauge('nodejs_heap_size_total_bytes', 'Heap of the main thread.', heapTotalBytes),
    gauge('nodejs_heap_size_used_bytes', 'What of the heap is used.', heapUsedBytes),
    gauge('nodejs_external_memory_bytes', 'Memory of buffers, outside the heap.', externalBytes),
  ];
}

function lagMetrics(lag: LoopLag | undefined): Metric[] {
  const of = (what: keyof LoopLag, help: string): Metric =>
    known(`nodejs_eventloop_lag_${what}_seconds`, help, lag?.[what]);
  return [
    of('mean', 'Lag of the event loop since a reading a minute ago or longer, timer of 10 ms included.'),
    of('p50', 'Median of the lag.'),
    of('p90', '90th percentile of the lag.'),
    of('p99', '99th percentile of the lag.'),
    of('max', 'Longest lag.'),
  ];
}

function collectionMetric(durations: ReadonlyMap<Collection, DurationHistogram>): Metric {
  return {
    name: 'nodejs_gc_duration_seconds',
    type: 'Histogram',
    help: 'Garbage collections of the main thread, since the start.',
    samples: [...durations].flatMap(([kind, histogram]) => histogramSamples(histogram, { kind })),
  };
}
