import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prometheusText } from './prometheus-text.ts';

test('a metric is its help, its type, and a line for each value', () => {
  const text = prometheusText([
    {
      name: 'a_total',
      type: 'Counter',
      help: 'Of a.',
      samples: [
        { labels: {}, value: 3 },
        { labels: { x: 'one', y: 'two' }, value: 0.5 },
      ],
    },
    {
      name: 'b_seconds',
      type: 'Histogram',
      help: 'Of b.',
      samples: [{ suffix: '_sum', labels: {}, value: 1e-7 }],
    },
    { name: 'c', type: 'Gauge', help: 'Of c.', samples: [] },
  ]);
  assert.equal(
    text,
    [
      '# HELP a_total Of a.',
      '# TYPE a_total counter',
      'a_total 3',
      'a_total{x="one",y="two"} 0.5',
      '# HELP b_seconds Of b.',
      '# TYPE b_seconds histogram',
      'b_seconds_sum 1e-7',
      '# HELP c Of c.',
      '# TYPE c gauge',
      '',
    ].join('\n'),
  );
});

test('nothing breaks out of its line or its quotes', () => {
  const text = prometheusText([
    { name: 'a', type: 'Gauge', help: 'x\ny\\', samples: [{ labels: { l: 'q"\\\nz' }, value: 1 }] },
  ]);
  assert.equal(text, '# HELP a x\\ny\\\\\n# TYPE a gauge\na{l="q\\"\\\\\\nz"} 1\n');
});
