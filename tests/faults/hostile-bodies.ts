// Bodies that are made to keep a server busy: as large as their operation allows, and wrong in every item, or sound and
// as much work as a sound one can be. Each is a few kilobytes on the wire, because it is sent gzipped.

import { filled, keys, LARGE_BYTES, list, nested } from './fillings.ts';

export interface HostileBody {
  readonly name: string;
  readonly path: string;
  readonly method: 'POST' | 'PUT' | 'PATCH';
  /** Made each time that it is asked for: it may be ten megabytes of small parts. */
  readonly text: string;
}

type Named = readonly [name: string, text: () => string];

const MB = 1024 * 1024;
const BATCH_BYTES = 10 * MB - 1024;

/** Objects of so many keys that stand nowhere else: the engine makes a shape of its own for each of them. */
function newKeys(objects: number, each: number): string[] {
  return Array.from({ length: objects }, (_, object) => {
    const members = Array.from({ length: each }, (__, index) => `"k${object * each + index}":null`);
    return `{${members.join(',')}}`;
  });
}

/** These are no valid input of any operation. */
function anywhere(bytes: number): readonly Named[] {
  return [
    ['unknown keys', () => keys(bytes)],
    ['unknown keys, each escaped', () => keys(bytes, (index) => `\\u0061${index.toString(36)}`)],
    ['one key again and again', () => keys(bytes, () => 'a')],
    ['empty lists', () => list('[]', bytes)],
    ['empty objects', () => list('{}', bytes)],
    ['nested lists', () => nested('[', ']', bytes)],
    ['nested objects', () => nested('{"a":', '}', bytes)],
    ['a number without end', () => `{"a":${'9'.repeat(bytes)}}`],
    ['numbers that no double holds', () => `{"a":${list('0.1234567890123456789', bytes)}}`],
    ['half surrogates', () => `{"a":${list('"\\ud800"', bytes)}}`],
    ['a list that never closes', () => `[${'[],'.repeat(bytes / 3)}`],
  ];
}

/** Of nothing that is there: a body is read before that is known. */
const ID = '01KE0000000000000000000042';

const ACTOR = '{"actorType":"User","userId":"u"}';
const EVENT = `"timestamp":"2026-01-02T03:04:05Z","actor":${ACTOR},"action":"A.B","resource":{"resourceType":"R","resourceId":"1"}`;
const TWICE = '{"a":1,"a":1,';
const thousand = (event: (keys: string) => string) =>
  `[${newKeys(1000, 88)
    .map((made) => `{${event(made)}}`)
    .join(',')}]`;

/** What a payload may be full of. */
const FILLINGS: Readonly<Record<string, (bytes: number) => string>> = {
  'empty objects': (bytes) => `{"a":${list('{}', bytes - 10)}}`,
  keys: (bytes) => keys(bytes),
  'escaped keys': (bytes) => keys(bytes, (index) => `\\"${index.toString(36)}`),
  'long numbers': (bytes) => `{"a":${list('0.1234567890123456', bytes - 10)}}`,
};

/** What is hard about this operation alone. */
const OWN: readonly [path: string, bytes: number, own: (bytes: number) => readonly Named[]][] = [
  [
    '/audit-events',
    LARGE_BYTES,
    (bytes) => [
      ['a payload of empty lists', () => `{${EVENT},"payload":{"a":${list('[]', bytes - 300)}}}`],
      ['a payload that is a list', () => `{${EVENT},"payload":${list('[]', bytes - 300)}}`],
      ['a payload with a key in quotes', () => `{${EVENT},"payload":{"\\"":${list('[]', bytes - 300)}}}`],
      ['an actor of unknown keys', () => `{"actor":${keys(bytes - 300)}}`],
    ],
  ],
  [
    '/audit-events/batch',
    BATCH_BYTES,
    (bytes) => [
      [
        'a name without end',
        () =>
          `{"events":[{${EVENT.replace('"userId":"u"', `"userName":"${'é'.repeat(bytes / 2 - 300)}"`)}}]}`,
      ],
      ['events that are empty lists', () => `{"events":${list('[]', bytes)}}`],
      ['events that are numbers', () => `{"events":${list('1', bytes)}}`],
      ['a thousand events of unknown keys', () => `{"events":[${filled(`${keys(9500)},`, bytes)}]}`],
      [
        'a payload of empty lists',
        () => `{"events":[{${EVENT},"payload":{"a":${list('[]', bytes - 300)}}}]}`,
      ],
      [
        'a payload with a key in quotes',
        () => `{"events":[{${EVENT},"payload":{"\\"":${list('[]', bytes - 300)}}}]}`,
      ],
      ['a payload of a million keys', () => `{"events":[{${EVENT},"payload":${keys(bytes - 300)}}]}`],
      [
        'one key twice, far behind',
        () => `{"events":[{${EVENT},"payload":{"a":${list('{}', bytes - 300)},"a":0}}]}`,
      ],
      ...Object.entries(FILLINGS).map(
        ([name, filling]): Named => [
          `one key twice, and a payload of ${name}`,
          () => `${TWICE}"events":[{${EVENT},"payload":${filling(bytes - 300)}}]}`,
        ],
      ),
      ['a thousand actors of new keys', () => `{"events":${thousand((keys) => EVENT.replace(ACTOR, keys))}}`],
      [
        'one key twice, and a thousand actors of new keys',
        () => `${TWICE}"events":${thousand((keys) => EVENT.replace(ACTOR, keys))}}`,
      ],
      [
        'a thousand tenants of new keys',
        () => `{"events":${thousand((keys) => `${EVENT},"tenantId":${keys}`)}}`,
      ],
      ['new keys in the envelope', () => `{"events":[{${EVENT}}],${newKeys(1, 90_000)[0]!.slice(1)}`],
    ],
  ],
  [
    '/audit-events/search',
    LARGE_BYTES,
    (bytes) => [
      ['actions that are numbers', () => `{"filters":{"actions":${list('1', bytes)}}}`],
      ['actions within the count of values', () => `{"filters":{"actions":${list('1', 190_000)}}}`],
      ['filters that do not exist', () => `{"filters":${keys(bytes)}}`],
      ['a sort of empty objects', () => `{"sort":${list('{}', 290_000)}}`],
      ['a sort of new keys', () => `{"sort":[${newKeys(300, 200).join(',')}]}`],
      ['new keys where nobody looks', () => `{"x":[${newKeys(6000, 10).join(',')}]}`],
      ['a sort by relevance, again and again', () => `{"sort":${list('{"field":"relevance"}', bytes)}}`],
      ['a query of ideographs', () => `{"query":"\\"${'漢'.repeat(bytes / 4)}\\""}`],
      ['a query of quotes', () => `{"query":"${'\\"a'.repeat(bytes / 3)}"}`],
    ],
  ],
  [
    '/admin/api-keys',
    LARGE_BYTES,
    (bytes) => [
      ['roles that are numbers', () => `{"roles":${list('1', bytes)}}`],
      ['roles of new keys', () => `{"roles":[${newKeys(6000, 10).join(',')}]}`],
      ['a network of colons', () => `{"name":"n","allowedNetworks":["${':'.repeat(bytes - 100)}!"]}`],
    ],
  ],
  [`/admin/api-keys/${ID}/rotate`, LARGE_BYTES, () => []],
  ['/admin/projections/rebuild', LARGE_BYTES, () => []],
  [`/event-streams/${ID}/verify`, LARGE_BYTES, () => []],
  [
    '/admin/tenants',
    LARGE_BYTES,
    (bytes) => [['a tenant of a name without end', () => `{"tenantId":"${'a'.repeat(bytes - 20)}"}`]],
  ],
  [`/admin/tenants/${ID}`, LARGE_BYTES, () => []],
  ['/policies', LARGE_BYTES, policies],
  [`/policies/${ID}`, LARGE_BYTES, () => []],
  ['/policies/validate', LARGE_BYTES, policies],
  [
    `/policies/${ID}/rules`,
    LARGE_BYTES,
    (bytes) => [['conditions of unknown roots', () => `{"conditions":${keys(bytes)},"effect":{}}`]],
  ],
  [
    '/legal-holds',
    LARGE_BYTES,
    (bytes) => [
      ['a hold of unknown roots', () => `{"name":"n","reason":"r","conditions":${keys(bytes)}}`],
      [
        'a hold nested without end',
        () => `{"name":"n","reason":"r","conditions":{"payload":${nested('{"a":', '}', bytes / 2)}}}`,
      ],
      ['a range of lists', () => `{"name":"n","reason":"r","range":{"fromSequence":${list('[]', bytes)}}}`],
    ],
  ],
  [`/legal-holds/${ID}/release`, LARGE_BYTES, () => []],
  [
    `/audit-events/${ID}/redact`,
    LARGE_BYTES,
    (bytes) => [
      ['fields that are lists', () => `{"reason":"r","fields":${list('[]', bytes)}}`],
      ['fields of unknown roots', () => `{"reason":"r","fields":${list('"a.b"', bytes)}}`],
      ['a field of many steps', () => `{"reason":"r","fields":["payload${'.a'.repeat(bytes / 2 - 50)}"]}`],
    ],
  ],
  [
    '/erasures',
    LARGE_BYTES,
    (bytes) => [
      ['a subject of unknown members', () => `{"reason":"r","subject":${keys(bytes)}}`],
      [
        'a person with a name without end',
        () => `{"reason":"r","subject":{"userId":"${'a'.repeat(bytes)}"}}`,
      ],
      [
        'fields that are lists',
        () => `{"reason":"r","subject":{"userId":"u"},"fields":${list('[]', bytes)}}`,
      ],
    ],
  ],
  [`/violations/${ID}/acknowledge`, LARGE_BYTES, () => []],
  ['/webhooks/subscriptions', LARGE_BYTES, (bytes) => [...subscriptions(bytes), UNENDED]],
  [`/webhooks/subscriptions/${ID}`, LARGE_BYTES, subscriptions],
  [`/webhooks/subscriptions/${ID}/rotate-secret`, LARGE_BYTES, () => []],
  [`/webhooks/subscriptions/${ID}/recover`, LARGE_BYTES, () => []],
  ['/admin/dead-letter-queue/reprocess', LARGE_BYTES, () => []],
  ['/exports', LARGE_BYTES, exportRequests],
  [`/exports/${ID}/deliver`, LARGE_BYTES, destinations],
  ['/export-schedules', LARGE_BYTES, (bytes) => [...exportRequests(bytes), ...destinations(bytes)]],
  [`/export-schedules/${ID}`, LARGE_BYTES, destinations],
];

/** As long as a key may be, beside all that is judged before it. */
const HARD_KEY: Named = [
  'a key of headers',
  () =>
    `{"destination":{"type":"Sftp","host":"93.184.216.34","path":"/","username":"u","hostKeyFingerprint":"SHA256:${'A'.repeat(43)}","privateKey":"-----BEGIN RSA PRIVATE KEY-----\\n${'a:b\\n'.repeat(4000)}"}}`,
];
const BEGUN = '-----BEGIN A-----'.repeat(1900);
const UNENDED: Named = [
  'certificates that begin and do not end',
  () =>
    `{"name":"n","url":"https://93.184.216.34/","eventTypes":["*"],"tls":{"ca":"${BEGUN}","certificate":"${BEGUN}"}}`,
];

/** Destinations that are wrong in every part, or as long as they may be. */
function destinations(bytes: number): readonly Named[] {
  const wanted = (members: string) => `{"destination":{"type":"Sftp",${members}}}`;
  return [
    ['a host without end', () => wanted(`"host":"${'a.'.repeat(bytes / 2)}"`)],
    ['a key without end', () => wanted(`"privateKey":"${'-----BEGIN'.repeat(bytes / 10)}"`)],
    ['members that nobody knows', () => `{"destination":${keys(bytes)}}`],
  ];
}

/** Criteria that are wrong in every part, or as many as there may be. */
function exportRequests(bytes: number): readonly Named[] {
  const wanted = (criteria: string) => `{"criteria":${criteria}}`;
  return [
    ['conditions of unknown roots', () => wanted(`{"conditions":${keys(bytes)}}`)],
    [
      'conditions nested without end',
      () => wanted(`{"conditions":{"payload":${nested('{"a":', '}', bytes / 2)}}}`),
    ],
    ['a query without end', () => wanted(`{"query":"${'a OR '.repeat(bytes / 5)}b"}`)],
    ['steps that are lists', () => wanted(`{"sort":${list('[]', bytes)}}`)],
    HARD_KEY,
    ['a destination without end', () => `{"destination":{"type":"Sftp","host":"${'a.'.repeat(bytes / 2)}"}}`],
  ];
}

/** Filters, headers and lists that are wrong in every part, or as many as there may be. */
function subscriptions(bytes: number): readonly Named[] {
  const subscription = (members: string) =>
    `{"name":"n","url":"https://127.0.0.1/","eventTypes":["*"],${members}}`;
  return [
    ['filters of unknown roots', () => subscription(`"filters":${keys(bytes)}`)],
    [
      'filters nested without end',
      () => subscription(`"filters":{"payload":${nested('{"a":', '}', bytes / 2)}}`),
    ],
    ['more headers than there may be', () => subscription(`"headers":${keys(bytes)}`)],
    ['event types that are lists', () => `{"name":"n","url":"u","eventTypes":${list('[]', bytes)}}`],
    ['a URL without end', () => `{"name":"n","eventTypes":["*"],"url":"https://${'a.'.repeat(bytes / 2)}"}`],
    [
      'a certificate without end',
      () => subscription(`"tls":{"ca":"${'-----BEGIN CERTIFICATE-----'.repeat(bytes / 27)}"}`),
    ],
  ];
}

/** Rules and conditions that are wrong in every part, or as many as there may be. */
function policies(bytes: number): readonly Named[] {
  const policy = (rules: string) => `{"name":"n","policyType":"Alert","rules":${rules}}`;
  const rule = (conditions: string) => `{"conditions":${conditions},"effect":{}}`;
  const steps = `payload${'.a'.repeat(15)}`;
  return [
    ['rules that are empty lists', () => policy(list('[]', bytes))],
    ['five hundred rules of unknown roots', () => policy(list(rule(keys(2000)), bytes))],
    ['conditions of unknown roots', () => policy(`[${rule(keys(bytes))}]`)],
    [
      'conditions nested without end',
      () => policy(`[${rule(`{"payload":${nested('{"a":', '}', bytes / 2)}}`)}]`),
    ],
    ['a list of numbers in a condition', () => policy(`[${rule(`{"action":${list('1', bytes)}}`)}]`)],
    ['a path without end', () => policy(`[${rule(`{"payload.${'a.'.repeat(bytes / 4)}b":1}`)}]`)],
    ['a path of brackets', () => policy(`[${rule(`{"payload${'[0]'.repeat(bytes / 5)}":1}`)}]`)],
    [
      'many texts that are too long',
      () => policy(`[${rule(`{"${steps}":${list(`"${'x'.repeat(5000)}"`, bytes)}}`)}]`),
    ],
    ['roles without end', () => policy(`[{"effect":{"roles":${list('"Viewer"', 800_000)}}}]`)],
    ['effects of unknown members', () => policy(`[{"effect":${keys(bytes)}}]`)],
  ];
}

/** All others are sent by POST. */
const METHODS: Readonly<Record<string, HostileBody['method']>> = {
  [`/export-schedules/${ID}`]: 'PUT',
  [`/admin/tenants/${ID}`]: 'PUT',
  [`/policies/${ID}`]: 'PUT',
  [`/webhooks/subscriptions/${ID}`]: 'PATCH',
};

/** In the short form, what can be sent anywhere goes to each operation in part, most to batches: all of it to all of them together. */
export function* hostileBodies(isWhole: boolean): Generator<HostileBody> {
  for (const [place, [path, bytes, own]] of OWN.entries()) {
    const apart = isWhole ? 1 : bytes === BATCH_BYTES ? 3 : 11;
    const anyhow = anywhere(bytes).filter((_, i) => i % apart === place % apart);
    for (const [name, make] of [...own(bytes), ...anyhow]) {
      yield {
        name,
        path,
        method: METHODS[path] ?? 'POST',
        get text() {
          return make();
        },
      };
    }
  }
}

const BATCH_PATH = '/audit-events/batch';
const LARGEST_PAYLOAD_BYTES = 64 * 1024 - 16;
/** As many of the largest payloads as there is room for in each megabyte of a batch. */
const LARGEST_PAYLOADS_PER_MB = 15;

function batch(count: number, payload: string): string {
  const event = `{${EVENT},"payload":${payload}}`;
  return `{"events":[${filled(`${event},`, count * (event.length + 1))}]}`;
}

/** As much as a batch may hold: each of these is stored. */
export function* heavyBodies(): Generator<HostileBody> {
  const [path, each] = [BATCH_PATH, Math.floor(BATCH_BYTES / 1000) - 300];
  yield {
    path,
    method: 'POST',
    name: 'a thousand events of words',
    text: batch(1000, `{"a":"${'many words '.repeat(each / 11)}"}`),
  };
  yield {
    path,
    method: 'POST',
    name: 'a thousand events of numbers',
    text: batch(1000, `{"a":${list('1', each)}}`),
  };
  yield { path, method: 'POST', name: 'a thousand events of keys', text: batch(1000, keys(each)) };
  for (const { name, sound } of twins())
    yield { path, method: 'POST', name: `the largest payloads, of ${name}`, text: sound };
}

/** More than a page holds, of events that are as much work to read as any of their size. */
export function* heavyToRead(): Generator<HostileBody> {
  const [path, count, bytes] = [BATCH_PATH, 75, LARGEST_PAYLOAD_BYTES];
  yield { path, method: 'POST', name: 'empty lists', text: batch(count, `{"\\"":${list('[]', bytes)}}`) };
  yield {
    path,
    method: 'POST',
    name: 'keys in quotes',
    text: batch(count, FILLINGS['escaped keys']!(bytes)),
  };
}

/** A batch that is stored, and others with the same in them that are refused. */
export interface Twins {
  readonly name: string;
  readonly sound: string;
  readonly refused: Readonly<Record<string, string>>;
}

/** For all fillings, or for the first of them. */
export function* twins(megabytes = 10, fillings?: number): Generator<Twins> {
  for (const [name, filling] of Object.entries(FILLINGS).slice(0, fillings)) {
    const sound = batch(megabytes * LARGEST_PAYLOADS_PER_MB, filling(LARGEST_PAYLOAD_BYTES));
    const inOne = `"events":[{${EVENT},"payload":${filling(megabytes * MB - 1324)}}]}`;
    const refused = {
      'all in one event': `{${inOne}`,
      'all in one event, and one key twice': `${TWICE}${inOne}`,
      'one key twice': `${TWICE}${sound.slice(1)}`,
      'all in one event, and not closed': `{${inOne.slice(0, -1)}`,
    };
    yield { name, sound, refused };
  }
}
