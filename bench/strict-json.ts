// What it costs to know what a body means. scanJson is compared with JSON.parse of the same text; it comes
// before JSON.parse, not in its place, so what a request pays is the sum, which has a row of its own.
// canonicalJson is compared with JSON.stringify of the same value, as text and as the bytes that are hashed.
// canonicalBytes takes the place of all of these where it can; it is compared with JSON.parse alone, and with
// the way from a body to canonical bytes that it saves, one event at a time and as one body of many.

import { textOf, utf8 } from '../packages/evidence/src/bytes.ts';
import { canonicalBytes } from '../packages/evidence/src/json/canonical-bytes.ts';
import { canonicalJson, isCanonicalJson } from '../packages/evidence/src/json/canonical-json.ts';
import { scanJson } from '../packages/evidence/src/json/strict-json.ts';
import { type Benchmark, type Contender, type Measured, type Row, takeTurns } from './measure.ts';
import { standardEvent } from './standard-event.ts';

const EVENTS = 500;
const REPEATS = 5;
const ROUNDS = 40;

export const benchmark: Benchmark = {
  name: 'strict-json',
  title: `the standard event, one at a time, ${EVENTS} different ones in turn`,
  run: async () => [
    ...(await measureScan('compact', (event) => JSON.stringify(event))),
    ...(await measureScan('indented', (event) => JSON.stringify(event, null, 2))),
    ...(await measureScan('not ASCII', (event) => JSON.stringify(event).replaceAll('o', 'ő'))),
    ...(await measureCanonical()),
    ...(await measureBytes('compact', (event) => JSON.stringify(event))),
    ...(await measureBytes('in order', canonicalJson)),
    ...(await measureBytes('indented', (event) => JSON.stringify(event, null, 2))),
    ...(await measureBytes('not ASCII', (event) => JSON.stringify(event).replaceAll('o', 'ő'))),
    ...(await measureBatch()),
  ],
};

async function measureScan(spelling: string, write: (event: object) => string): Promise<Row[]> {
  const texts = events().map(write);
  const bodies = texts.map(utf8);
  const measured = await takeTurns(
    [
      each('JSON.parse', texts, (text) => JSON.parse(text)),
      each('scanJson', bodies, (body) => scanClean(body)),
      each('decode, JSON.parse', bodies, (body) => JSON.parse(textOf(body))),
      each('scanJson, decode, JSON.parse', bodies, (body) => {
        scanClean(body);
        return JSON.parse(textOf(body));
      }),
    ],
    ROUNDS,
  );
  const [parse, scan, decodeParse, all] = measured;
  const title = `${spelling}, ${bodies[0]!.length} B`;
  return [
    row(title, parse!),
    { ...row(title, scan!, parse), goal: '≥ 0.50' },
    row(title, decodeParse!),
    row(title, all!, decodeParse),
  ];
}

async function measureCanonical(): Promise<Row[]> {
  const texts = events().map((event) => JSON.stringify(event));
  const values: unknown[] = texts.map((text) => JSON.parse(text));
  const measured = await takeTurns(
    [
      each('JSON.stringify', values, (value) => JSON.stringify(value)),
      each('canonicalJson', values, canonicalJson),
      each('JSON.stringify to UTF-8', values, (value) => utf8(JSON.stringify(value))),
      each('canonicalJson to UTF-8', values, (value) => utf8(canonicalJson(value))),
      each('isCanonicalJson', values.map(canonicalJson), isCanonicalJson),
    ],
    ROUNDS,
  );
  const [stringify, canonical, stringifyBytes, canonicalEncoded, isCanonical] = measured;
  const title = `${texts[0]!.length} B`;
  return [
    row(title, stringify!),
    { ...row(title, canonical!, stringify), goal: 'about 5 µs' },
    row(title, stringifyBytes!),
    row(title, canonicalEncoded!, stringifyBytes),
    row(title, isCanonical!, canonical),
  ];
}

const DEPTH_MAX = 34;

async function measureBytes(spelling: string, write: (event: object) => string): Promise<Row[]> {
  const texts = events().map(write);
  const bodies = texts.map(utf8);
  const measured = await takeTurns(
    [
      each('JSON.parse', texts, (text) => JSON.parse(text)),
      each('scan, parse, canonicalJson, encode', bodies, slowBytes),
      each('canonicalBytes', bodies, (body) => fastBytes(body, 1)),
    ],
    ROUNDS,
  );
  const [parse, slow, fast] = measured;
  const title = `${spelling}, ${bodies[0]!.length} B`;
  return [
    row(title, parse!),
    row(title, slow!, parse),
    { ...row(title, fast!, parse), goal: '≥ 1.00' },
    row(title, fast!, slow),
  ];
}

/** Per event of the batch. */
async function measureBatch(): Promise<Row[]> {
  const text = `{"events":[${events()
    .map((event) => JSON.stringify(event))
    .join(',')}],"transactional":true}`;
  const body = utf8(text);
  const once = (name: string, work: () => unknown): Contender => {
    const run = (): number => {
      for (let repeat = 0; repeat < REPEATS; repeat++) work();
      return REPEATS * EVENTS;
    };
    return { name, run };
  };
  const measured = await takeTurns(
    [
      once('JSON.parse', () => JSON.parse(text)),
      once('scan, parse, canonicalJson, encode', () => slowBytes(body)),
      once('canonicalBytes', () => fastBytes(body, 3)),
    ],
    ROUNDS,
  );
  const [parse, slow, fast] = measured;
  const title = `one of ${EVENTS} in a batch`;
  return [
    row(title, parse!),
    row(title, slow!, parse),
    { ...row(title, fast!, parse), goal: '≥ 1.00' },
    row(title, fast!, slow),
  ];
}

function slowBytes(body: Uint8Array): Uint8Array {
  scanClean(body, DEPTH_MAX);
  return utf8(canonicalJson(JSON.parse(textOf(body))));
}

function fastBytes(body: Uint8Array, outlineLevels: number): Uint8Array {
  const text = canonicalBytes(body, { depthMax: DEPTH_MAX, outlineLevels });
  if (text === undefined) throw new Error('the standard event takes the slow way');
  return text.bytes;
}

function events(): object[] {
  return Array.from({ length: EVENTS }, (_, i) => standardEvent(i));
}

function scanClean(body: Uint8Array, depthMax?: number): void {
  const { syntax, violations } = scanJson(body, depthMax === undefined ? {} : { depthMax });
  if (syntax !== undefined || violations.length > 0) throw new Error('the standard event is not clean');
}

function each<Item>(name: string, items: readonly Item[], work: (item: Item) => unknown): Contender {
  const run = (): number => {
    for (let repeat = 0; repeat < REPEATS; repeat++) for (const item of items) work(item);
    return REPEATS * items.length;
  };
  return { name, run };
}

/** Ratios are speed against speed: 0.5 means twice the time. */
function row(title: string, { name, unitsPerSecond }: Measured, peer?: Measured): Row {
  const figure = `${(1e6 / unitsPerSecond).toFixed(2)} µs`;
  if (peer === undefined) return { name: `${title}: ${name}`, figure };
  return {
    name: `${title}: ${name}`,
    figure,
    against: peer.name,
    ratio: unitsPerSecond / peer.unitsPerSecond,
  };
}
