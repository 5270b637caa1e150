// What is made to keep a server busy over the protocols beside REST: as large as a message may be, nested, or of many small
// parts. Each is sent gzipped.

import { filled, keys, LARGE_BYTES, list, nested } from './fillings.ts';
import type { Request } from './waiting.ts';

type Rows = Readonly<Record<string, () => string | Uint8Array>>;

const MB = 1024 * 1024;

function* requests(to: Omit<Request, 'name' | 'text'>, rows: Rows): Generator<Request> {
  for (const [name, make] of Object.entries(rows)) {
    yield {
      ...to,
      name,
      get text() {
        return make();
      },
    };
  }
}

const times = (count: number, make: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i));

/** As often as there is room for it. */
const fill = (unit: string, around = 1000) => repeated(unit, LARGE_BYTES - around);
const repeated = (unit: string, bytes: number) => unit.repeat(Math.floor(bytes / unit.length));

function* graphql(): Generator<Request> {
  const asked = (query: string, variables?: string) =>
    `{"query":${JSON.stringify(query)}${variables === undefined ? '' : `,"variables":${variables}`}}`;
  const document = (make: () => string) => () => asked(make());
  const nodes = (inside: string) => `{ events { nodes { ${inside} } } }`;
  const search =
    'query($search: SearchRequestInput!) { searchEvents(search: $search) { results { score } } }';
  const ingest =
    'mutation($events: [EventInput!]!) { ingestEvents(batch: { events: $events }) { accepted } }';
  yield* requests(
    { root: '/graphql', path: '/v2' },
    {
      'fragments that double': document(
        () =>
          `{ ...f0 } ${times(49, (i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`).join(' ')} fragment f49 on Query { health { status } }`,
      ),
      'fragments that each spread all others': document(
        () =>
          `{ ...f0 } ${times(50, (i) => `fragment f${i} on Query { ${times(50, (j) => `...f${j}`).join(' ')} }`).join(' ')}`,
      ),
      'fragments without end': document(
        () => `{ health { status } } ${times(5000, (i) => `fragment f${i} on Query{x}`).join(' ')}`,
      ),
      'spreads of one fragment': document(
        () => `${nodes(filled('...f ', 30_000))} fragment f on AuditEvent { ${filled('eventId ', 20_000)} }`,
      ),
      'one field again and again': document(() => `{ health { ${filled('status ', 7 * 14_000)} } }`),
      'one field again and again, in fragments': document(
        () =>
          `{ health { ${times(40, (i) => `...f${i}`).join(' ')} } } ${times(40, (i) => `fragment f${i} on HealthReport { ${filled('status ', 7 * 300)} }`).join(' ')}`,
      ),
      'one field with others in it, again and again': document(
        () => `{ events(first: 1) { nodes { ${filled('actor{userId} ', 14 * 3500)} } } }`,
      ),
      'fields of a page again and again': document(
        () => `{ events(first: 1) { nodes { ${filled('eventId ', 8 * 14_000)} } } }`,
      ),
      'fields that could be merged': document(() => nodes(filled('eventId ', 8 * 14_000))),
      'fields with arguments that could be merged': document(
        () => `{ ${filled('events(first:1){totalCount} ', 28 * 1500)} }`,
      ),
      'inline fragments with fields that could be merged': document(() =>
        nodes(filled('...on AuditEvent{eventId sequence} ', 35 * 1800)),
      ),
      'aliases of one field': document(() => `{ ${times(3000, (i) => `a${i}:health{status}`).join(' ')} }`),
      'aliases with fields that differ': document(() =>
        nodes(times(4000, (i) => `a:${i % 2 === 0 ? 'eventId' : 'action'}`).join(' ')),
      ),
      'fields that nobody knows': document(() => nodes(times(14_000, (i) => `f${i}`).join(' '))),
      'names that are nearly known': document(() => nodes(times(14_000, (i) => `evntId${i % 7}`).join(' '))),
      'a name without end': document(() => nodes('a'.repeat(LARGE_BYTES - 100))),
      'selections nested without end': document(() => nested('{a', '}', LARGE_BYTES - 100)),
      'inline fragments nested within the count of tokens': document(() => nested('{...', '}', 12_000)),
      'lists nested without end': document(
        () => `{ event(eventId: ${nested('[', ']', LARGE_BYTES - 100)}) { x } }`,
      ),
      'objects nested within the count of tokens': document(
        () => `{ policyValidation(policy: ${nested('{a:', '}', 10_000)}) { valid } }`,
      ),
      'comments alone': document(() => `${fill('#\n', LARGE_BYTES / 3)}{ health { status } }`),
      'one comment': document(() => `# ${'c'.repeat(LARGE_BYTES - 200)}\n{ health { status } }`),
      'commas alone': document(() => `${fill(',', 200)} { health { status } }`),
      'a text of lines': document(
        () => `{ event(eventId: """${'\\n '.repeat(10)}${fill(' \n', LARGE_BYTES / 3)}""") { x } }`,
      ),
      'a text of escapes': document(() => `{ event(eventId: "${fill('\\u0041', LARGE_BYTES / 4)}") { x } }`),
      'a number without end': document(() => `{ events(first: ${fill('9', 200)}) { totalCount } }`),
      'a number in JSON without end': document(
        () => `mutation { ingestEvent(event: { payload: { a: ${fill('9', 300)} } }) { eventId } }`,
      ),
      'directives on one field': document(
        () => `{ health ${filled('@skip(if:false) ', 16 * 2400)} { status } }`,
      ),
      'directives that nobody knows': document(() => `{ health ${filled('@a ', 3 * 7000)} { status } }`),
      'operations without end': document(() => times(3500, (i) => `query q${i}{a}`).join(' ')),
      'variables that nobody uses': document(
        () => `query(${times(3500, (i) => `$a${i}:Int`).join(' ')}) { health { status } }`,
      ),
      'variables used where none are': document(
        () =>
          `{ ${times(20, (i) => `events(${times(200, (j) => `a${j}:$v${i}x${j}`).join(' ')}){totalCount}`).join(' ')} }`,
      ),
      'arguments that nobody knows': document(
        () => `{ health(${times(4500, (i) => `a${i}:1`).join(' ')}) { status } }`,
      ),
      'one argument again and again': document(
        () => `{ events(${filled('first:1 ', 8 * 4500)}) { totalCount } }`,
      ),
      'a list of words that are none': document(
        () => `{ searchEvents(search: { filters: { actions: [${filled('1 ', 2 * 14_000)}] } }) { total } }`,
      ),
      'introspection nested without end': document(
        () => `{ __schema { types ${nested('{ fields { type ', '} }', 4000)} } }`,
      ),
      'introspection of all, many times': document(
        () => `{ ${times(19, () => '__schema { types { name fields { name args { name } } } }').join(' ')} }`,
      ),
      'aliases of introspection': document(
        () =>
          `{ ${times(30, (i) => `a${i}: __schema { types { name fields { name args { name } } } }`).join(' ')} }`,
      ),
      'types by name, many times': document(
        () =>
          `{ ${times(19, (i) => `a${i}: __type(name: "AuditEvent") { fields { type { fields { type { fields { name } } } } } }`).join(' ')} }`,
      ),
      'variables of keys': () => asked('{ health { status } }', keys(LARGE_BYTES - 100)),
      'variables nested without end': () =>
        asked('{ health { status } }', nested('{"a":', '}', LARGE_BYTES - 100)),
      'variables that are empty lists': () =>
        asked('{ health { status } }', `{"a":${list('[]', LARGE_BYTES - 100)}}`),
      'a search of keys': () => asked(search, `{"search":${keys(LARGE_BYTES - 300)}}`),
      'a search of numbers': () =>
        asked(search, `{"search":{"filters":{"actions":${list('1', LARGE_BYTES - 300)}}}}`),
      'a search of empty lists': () => asked(search, `{"search":{"sort":${list('[]', LARGE_BYTES - 300)}}}`),
      'events that are empty objects': () => asked(ingest, `{"events":${list('{}', LARGE_BYTES - 300)}}`),
      'events that are numbers': () => asked(ingest, `{"events":${list('1', LARGE_BYTES - 300)}}`),
      'an event of keys': () => asked(ingest, `{"events":[${keys(LARGE_BYTES - 300)}]}`),
      'a name of the operation without end': () =>
        `{"query":"{health{status}}","operationName":"${fill('a', 300)}"}`,
      'members that nobody knows': () => keys(LARGE_BYTES),
      'a list of requests': () => list('{"query":"{health{status}}"}', LARGE_BYTES),
      'extensions of keys': () => `{"query":"{health{status}}","extensions":${keys(LARGE_BYTES - 100)}}`,
    },
  );
}

const SOAP_TYPE = 'text/xml; charset=utf-8';

function* soap(): Generator<Request> {
  const around = (body: string, attributes = '', before = '') =>
    `<?xml version="1.0"?>${before}<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" ${attributes}><e:Body>${body}</e:Body></e:Envelope>`;
  const search = (inside: string) => `<EventsSearch xmlns="urn:tallystick:v1">${inside}</EventsSearch>`;
  const entities = times(20, (i) => `<!ENTITY a${i + 1} "${`&a${i};`.repeat(10)}">`).join('');
  const batch = (inside: string) =>
    `<EventsIngestBatch xmlns="urn:tallystick:v1"><batch>${inside}</batch></EventsIngestBatch>`;
  yield* requests(
    { root: '/soap', path: '/v1', type: SOAP_TYPE },
    {
      'entities that multiply': () =>
        around(search('&a20;'), '', `<!DOCTYPE x [<!ENTITY a0 "a">${entities}]>`),
      'a DTD without end': () => around('', '', `<!DOCTYPE x [${fill('<!ENTITY a "b">')}]>`),
      'entities that nobody declared': () => around(search(fill('&a;'))),
      'references to characters': () => around(search(`<search><query>${fill('&#65;')}a</query></search>`)),
      'elements nested without end': () => around(nested('<a>', '</a>', LARGE_BYTES - 300)),
      'elements that never end': () => around(fill('<a>')),
      'elements nested in the search': () => around(search(nested('<a>', '</a>', LARGE_BYTES - 300))),
      'empty elements': () => around(search(fill('<a/>'))),
      'empty elements in the envelope': () => around('').replace('<e:Body>', `${fill('<a/>')}<e:Body>`),
      'headers without end': () =>
        around('').replace('<e:Body>', `<e:Header>${fill('<a xmlns="u"/>')}</e:Header><e:Body>`),
      'actions without end': () =>
        around(search(`<search><filters>${fill('<actions>1</actions>')}</filters></search>`)),
      'one member again and again': () => around(search(`<search>${fill('<query>a</query>')}</search>`)),
      attributes: () => around(search(`<search ${times(70_000, (i) => `a${i}="b"`).join(' ')}/>`)),
      'one attribute again and again': () => around(search(`<search ${fill('a="b" ')}/>`)),
      'prefixes on one element': () =>
        around(search(`<search ${times(40_000, (i) => `xmlns:a${i}="u"`).join(' ')}/>`)),
      'prefixes, each inside the one before': () =>
        around(search(times(24_000, (i) => `<a xmlns:b${i}="u">`).join(''))),
      'prefixes, one on each element': () =>
        around(search(times(24_000, (i) => `<b${i}:a xmlns:b${i}="u"/>`).join(''))),
      'comments alone': () => around(search(fill('<!---->'))),
      'one comment': () => around(search(`<!--${fill('a')}-->`)),
      'a comment that never ends': () => around(search(`<!--${fill('- ')}`)),
      'sections of characters': () =>
        around(search(`<search><query>${fill('<![CDATA[a]]>')}</query></search>`)),
      'a section that never ends': () => around(search(`<![CDATA[${fill(']]')}`)),
      'instructions for programs': () => around(search(fill('<?a ?>'))),
      'a name without end': () => around(`<${fill('a')}/>`),
      'a text without end': () => around(search(`<search><query>${fill('é')}</query></search>`)),
      'an end without a beginning': () => around(fill('</a>')),
      'half a tag': () => around(fill('<')),
      'a value without end': () => around('', `a="${fill('a')}"`),
    },
  );
  yield* requests(
    {
      root: '/soap',
      path: '/v1',
      type: 'application/soap+xml; action="urn:tallystick:v1/EventsIngestBatch"',
    },
    Object.fromEntries(
      Object.entries({
        'a batch of empty elements': (bytes: number) => batch(repeated('<a/>', bytes)),
        'a batch of empty events': (bytes: number) => batch(repeated('<events/>', bytes)),
        'a batch of comments': (bytes: number) => batch(repeated('<!---->', bytes)),
        'a batch of nested elements': (bytes: number) => batch(nested('<a>', '</a>', bytes)),
        'a batch of references': (bytes: number) => batch(repeated('&#65;', bytes)),
        'a batch of attributes': (bytes: number) =>
          batch(`<events ${times(bytes / 12, (i) => `a${i}="b"`).join(' ')}/>`),
        'a batch of one long text': (bytes: number) => batch(`<events>${'é'.repeat(bytes / 2)}</events>`),
      }).map(([name, make]) => [
        name,
        () =>
          around(make(10 * MB - 1000)).replace(
            'http://schemas.xmlsoap.org/soap/envelope/',
            'http://www.w3.org/2003/05/soap-envelope',
          ),
      ]),
    ),
  );
}

function* mcp(): Generator<Request> {
  const asked = (method: string, params: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
  const call = (name: string, args: string) => asked('tools/call', `{"name":"${name}","arguments":${args}}`);
  const one = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  yield* requests(
    { root: '', path: '/mcp' },
    {
      'a list of messages': () => list(one, LARGE_BYTES),
      'a list of notifications': () => list('{"jsonrpc":"2.0","method":"a"}', LARGE_BYTES),
      'a list of empty lists': () => list('[]', LARGE_BYTES),
      'members that nobody knows': () => `${one.slice(0, -1)},${keys(LARGE_BYTES - 100).slice(1)}`,
      'parameters of 40,000 keys': () => asked('tools/list', keys(40_000 * 9)),
      'parameters without end': () => asked('tools/list', keys(LARGE_BYTES - 100)),
      'arguments of 40,000 keys': () => call('events_search', keys(40_000 * 9)),
      'arguments without end': () => call('events_search', keys(LARGE_BYTES - 200)),
      'arguments nested without end': () => call('events_search', nested('{"a":', '}', LARGE_BYTES - 200)),
      'arguments that are a list': () => call('events_search', list('[]', LARGE_BYTES - 200)),
      'a search of numbers': () =>
        call('events_search', `{"search":{"filters":{"actions":${list('1', LARGE_BYTES - 300)}}}}`),
      'a search of keys': () => call('events_search', `{"search":${keys(LARGE_BYTES - 300)}}`),
      'statistics of keys': () => call('events_statistics', keys(LARGE_BYTES - 300)),
      'ids to verify without end': () => call('events_verify', `{"eventId":"${fill('a', 300)}"}`),
      'a tool of a name without end': () => call(fill('a', 300), '{}'),
      'a tool that nobody knows, with arguments': () => call('a', keys(LARGE_BYTES - 200)),
      'a method of a name without end': () => asked(fill('a', 300), '{}'),
      'an id without end': () => `{"jsonrpc":"2.0","id":"${fill('a', 300)}","method":"tools/list"}`,
      'an id that is an object': () =>
        `{"jsonrpc":"2.0","id":${keys(LARGE_BYTES - 200)},"method":"tools/list"}`,
      'facts about the client without end': () =>
        asked(
          'initialize',
          `{"protocolVersion":"2025-06-18","capabilities":${keys(LARGE_BYTES - 300)},"clientInfo":{"name":"a","version":"1"}}`,
        ),
      'meta without end': () => asked('tools/list', `{"_meta":${keys(LARGE_BYTES - 200)}}`),
      'a resource without end': () => asked('resources/read', `{"uri":"tallystick://${fill('a', 300)}"}`),
      'a resource of percent signs': () =>
        asked('resources/read', `{"uri":"tallystick://events/${fill('%41', 300)}"}`),
      'a prompt of keys': () =>
        asked('prompts/get', `{"name":"investigate_actor","arguments":${keys(LARGE_BYTES - 200)}}`),
      'one key again and again': () =>
        asked(
          'tools/list',
          keys(LARGE_BYTES - 200, () => 'a'),
        ),
      'a message nested without end': () => nested('[', ']', LARGE_BYTES),
      'numbers without end': () => asked('tools/list', `{"a":${fill('9', 300)}}`),
    },
  );
}

function* connect(): Generator<Request> {
  const events = '/tallystick.v2.EventsService';
  yield* requests(
    { root: events, path: '/Search' },
    {
      'members that nobody knows': () => keys(LARGE_BYTES),
      'members that nobody knows, each escaped': () =>
        keys(LARGE_BYTES, (index) => `\\u0061${index.toString(36)}`),
      'one key again and again': () => keys(LARGE_BYTES, () => 'a'),
      'lists nested without end': () => nested('[', ']', LARGE_BYTES),
      'objects nested without end': () => nested('{"search":', '}', LARGE_BYTES),
      'empty lists': () => list('[]', LARGE_BYTES),
      'a search of keys': () => `{"search":${keys(LARGE_BYTES - 100)}}`,
      'a search of escaped keys': () =>
        `{"search":${keys(LARGE_BYTES - 100, (index) => `\\u0061${index.toString(36)}`)}}`,
      'actions that are numbers': () => `{"search":{"filters":{"actions":${list('1', LARGE_BYTES - 100)}}}}`,
      'actions that are empty lists': () =>
        `{"search":{"filters":{"actions":${list('[]', LARGE_BYTES - 100)}}}}`,
      'a sort of empty objects': () => `{"search":{"sort":${list('{}', LARGE_BYTES - 100)}}}`,
      'a number without end': () => `{"search":{"pagination":{"limit":${fill('9', 300)}}}}`,
      'half surrogates': () => `{"search":{"query":${list('"\\ud800"', LARGE_BYTES - 100)}}}`,
    },
  );
  yield* requests(
    { root: events, path: '/Get' },
    { 'an id that is an object': () => `{"eventId":${keys(LARGE_BYTES - 100)}}` },
  );
  yield* requests(
    { root: '/tallystick.v2.SubscriptionsService', path: '/Update' },
    {
      'names of members that are null': () =>
        `{"subscriptionId":"01KE0000000000000000000042","patch":{"headers":{},"nullMembers":[${times(50_000, (i) => `"headers.a${i}"`).join(',')}]}}`,
    },
  );
  yield* requests(
    { root: events, path: '/IngestBatch' },
    {
      'events that are empty objects': () => `{"batch":{"events":${list('{}', LARGE_BYTES - 100)}}}`,
      'events that are numbers': () => `{"batch":{"events":${list('1', LARGE_BYTES - 100)}}}`,
      'events of members that nobody knows': () =>
        `{"batch":{"events":[${filled(`${keys(9500)},`, LARGE_BYTES - 100)}]}}`,
      'a payload nested without end': () =>
        `{"batch":{"events":[{"payload":${nested('{"a":', '}', LARGE_BYTES - 100)}}]}}`,
    },
  );
  const large = 10 * MB - 1000;
  const many = (...bytes: readonly number[]) =>
    Buffer.alloc(large - (large % bytes.length), Uint8Array.from(bytes));
  /** Messages inside one another, by field 1, each with its length before it. */
  const inside = (levels: number) => {
    const heads: Buffer[] = [];
    for (let [level, length] = [0, 0]; level < levels; level++) {
      const size: number[] = [];
      for (let left = length; ; left >>= 7) {
        size.push(left > 127 ? (left & 127) | 128 : left);
        if (left <= 127) break;
      }
      heads.push(Buffer.from([0x0a, ...size]));
      length += 1 + size.length;
    }
    return Buffer.concat(heads.toReversed());
  };
  yield* requests(
    { root: events, path: '/IngestBatch', type: 'application/proto' },
    {
      'empty messages': () => many(0x0a, 0),
      'fields that nobody knows': () => many(0xf8, 0x3f, 1),
      'groups that nobody closes': () => many(0x0b),
      'messages inside one another': () => inside(200_000),
      'numbers that do not end': () => many(0xff),
      'a length beyond the end': () => Buffer.from([0x0a, 0xff, 0xff, 0xff, 0x7f]),
      'texts that are no UTF-8': () => many(0x0a, 4, 0x0a, 2, 0xff, 0xfe),
    },
  );
}

export function* hostileMessages(): Generator<Request> {
  yield* graphql();
  yield* soap();
  yield* mcp();
  yield* connect();
}
