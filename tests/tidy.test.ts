// The rules of STYLE.md and ARCHITECTURE.md that a machine can check. When one of them is broken, the
// message says which file, which rule, and what to do instead.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  functionsOf,
  importedFrom,
  isTest,
  readText,
  repositoryFiles,
  type SourceFile,
  sourceFiles,
  targetOf,
} from './source.ts';

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
/** Of all files that verify-bundle.ts imports, for their types too. */
const VERIFIER_LINES_MAX = 3000;

const files = sourceFiles();
const code = files.filter(({ path }) => path.startsWith('packages/') && !isTest(path));

/** Which package may import which; an absent one may import none of ours. */
const PACKAGES: Record<string, readonly string[]> = {
  contract: [],
  evidence: [],
  server: ['contract', 'evidence'],
  cli: ['contract', 'evidence', 'server'],
};

/** Which room of evidence may import which; bytes.ts and errors.ts are open to all. */
const EVIDENCE_ROOMS: Record<string, readonly string[]> = {
  json: [],
  hash: [],
  tree: ['hash'],
  event: ['json', 'hash', 'tree'],
  note: ['hash', 'tree'],
  witness: ['tree', 'note'],
  bundle: ['json', 'hash', 'tree', 'event', 'note'],
  export: ['json', 'hash', 'tree', 'event', 'note', 'bundle'],
  page: ['hash', 'note', 'export'],
};

const NOUNS =
  'events streams policies rates holds redaction retention alerts exports webhooks access keys records followers nodes work admin'.split(
    ' ',
  );
const EVERYWHERE = [
  'runtime',
  'telemetry',
  'call',
  'fingerprints',
  'repeats',
  'paging',
  'query',
  'written-json',
  'start-error',
];
const OPEN = [...NOUNS, ...EVERYWHERE];

/** Which room of the server may import which; app names all of them, main.ts only what it starts. */
const ROOMS: Record<string, readonly string[]> = {
  runtime: [],
  'start-error': [],
  'written-json': [],
  telemetry: ['runtime'],
  call: ['runtime', 'access'],
  fingerprints: ['access'],
  repeats: ['fingerprints'],
  paging: ['call', 'access'],
  query: ['access', 'events', 'policies'],
  config: ['runtime'],
  ...Object.fromEntries(NOUNS.map((noun) => [noun, [...OPEN]])),
  operations: [...OPEN],
  gateway: ['operations', 'config', 'access', 'admin', 'policies', 'rates', ...EVERYWHERE],
  protocols: ['gateway', 'operations', 'config', ...EVERYWHERE],
  storage: [...OPEN],
  outbound: [...OPEN],
  'keyring-place': ['config', 'storage', 'outbound', ...OPEN],
  app: ['config', 'keyring-place', 'operations', 'gateway', 'protocols', 'storage', 'outbound', ...OPEN],
  operate: ['check-store', 'config', 'keyring-place', 'storage', ...OPEN],
  'check-store': ['storage', ...OPEN],
  main: ['app', 'config', ...EVERYWHERE],
  index: ['app', 'check-store', 'config', 'keyring-place', 'main', 'operate', ...OPEN],
};

/** Where callers and keys get their clearance, where callers are told their own, and where it is handed on to repeats.ts, which decides who may learn of a repeat. */
const HANDS_ON_CLEARANCE =
  /^packages\/(contract|cli)\/|server\/src\/(policies|access|config|app|exports|keys|webhooks|storage\/(pool|rows|conformance))\/|storage\/([\w-]+\/)+schema\.ts|server\/src\/(repeats|protocols\/mcp\/read-resource|events\/(ingest|batch)|streams\/log|gateway\/idempotency|work\/job-keys)\.ts/;

/** Calls that have one home each, so that tests can put their own thing in its place. */
const HOMES: { call: RegExp; home: RegExp; instead: string }[] = [
  {
    call: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bhrtime\b/,
    home: /server\/src\/runtime\//,
    instead: 'take a Clock',
  },
  {
    call: /\bMath\.random\(|\brandomBytes\(|\brandomUUID\(|\bgetRandomValues\(/,
    home: /server\/src\/runtime\//,
    instead: 'take Random',
  },
  {
    call: /\bsetTimeout\(|\bsetInterval\(/,
    home: /server\/src\/runtime\//,
    instead: 'use the timers of runtime/',
  },
  { call: /\bprocess\.[a-z]/, home: /server\/src\/main\.ts|cli\//, instead: 'only main.ts touches process' },
  {
    call: /\bJSON\.parse\(/,
    // The page of GraphiQL has a script, which runs in a browser.
    home: /evidence\/src\/json\/|cli\/src\/main\.ts|server\/src\/(main|config\/environment|.*graphiql-page)\.ts/,
    instead: 'use parseJson: the engine misreads escaped keys',
  },
  {
    call: /\bfetch\(/,
    home: /packages\/cli\/|graphql\/graphiql-page/,
    instead: 'the server goes out through outbound/http/, which judges addresses and bounds answers',
  },
  {
    call: /\bcreateHmac\(/,
    home: /runtime\/hmac|webhooks\/signature/,
    instead: 'use hmacSha256 of runtime/: Node is slow with keys that are bytes',
  },
  {
    call: /\brest\b|\bREST_|\bheaders\b/,
    home: /^(?!packages\/server\/src\/gateway\/)/,
    instead: 'gateway/ knows no protocol: a new one is added without changing it',
  },
  {
    call: /\bclearance\b/,
    home: HANDS_ON_CLEARANCE,
    instead: 'ask the Sight of policies/sight.ts what a reader may see; else a clearance is only handed on',
  },
  {
    call: /\bCLASSIFICATIONS\.indexOf\(|[cC]lassification\s*[!=]==? ''/,
    home: /server\/src\/(policies\/|storage\/|access\/roles\.ts|repeats\.ts)/,
    instead: 'policies/ compares classifications; storage/ only has columns of them',
  },
  { call: /\bconsole\./, home: /nowhere/, instead: 'use telemetry, or write to the stream you were given' },
];

const TECHNOLOGY =
  /^(node:(fs|http|https|http2|net|tls|sqlite|child_process|worker_threads|dgram|dns)|fastify|pg|undici)/;

describe('direction', () => {
  it('packages import only those that ARCHITECTURE.md lets them', () => {
    report(code, (file) =>
      file.imports.flatMap(({ specifier }) => {
        const target = /^@tallystick\/([a-z]+)/.exec(specifier)?.[1];
        if (target === undefined || PACKAGES[packageOf(file)]!.includes(target) || target === packageOf(file))
          return [];
        return [
          `imports ${specifier}; ${packageOf(file)} may import ${PACKAGES[packageOf(file)]!.join(', ') || 'no other package'}`,
        ];
      }),
    );
  });

  it('relative imports stay inside their package', () => {
    report(code, (file) =>
      file.imports.flatMap(({ specifier }) => {
        const target = targetOf(file, specifier);
        return target === undefined || target.startsWith(`packages/${packageOf(file)}/`)
          ? []
          : [`reaches into ${target}`];
      }),
    );
  });

  it('evidence and contract are pure: no builtin, and evidence no dependency at all', () => {
    report(code, (file) => {
      if (packageOf(file) !== 'evidence' && packageOf(file) !== 'contract') return [];
      return file.imports
        .filter(({ specifier }) => !specifier.startsWith('.'))
        .filter(({ specifier }) => packageOf(file) === 'evidence' || !/^typebox(\/|$)/.test(specifier))
        .map(({ specifier }) => `imports ${specifier}`);
    });
  });

  it('rooms of evidence import only those that ARCHITECTURE.md lets them', () => {
    const inRooms = code.filter(({ path }) => /^packages\/evidence\/src\/[^/]+\//.test(path));
    report(inRooms, (file) => {
      const room = roomOf(file.path);
      return file.imports.flatMap(({ specifier }) => {
        const target = targetOf(file, specifier)!;
        if (['bytes', 'errors', room, ...(EVIDENCE_ROOMS[room] ?? [])].includes(roomOf(target))) return [];
        return [
          `imports ${target}; ${room} may import ${EVIDENCE_ROOMS[room]?.join(', ') || 'no other room'}`,
        ];
      });
    });
  });

  it('evidence uses nothing that browsers lack', () => {
    report(code, (file) => {
      if (packageOf(file) !== 'evidence') return [];
      return file.lines
        .filter((line) => /\bBuffer\b|\b__dirname\b|\brequire\(/.test(codeIn(line)))
        .map((line) => `has ${line.trim()}`);
    });
  });

  it('rooms of the server import only those that ARCHITECTURE.md lets them', () => {
    report(serverFiles(), (file) => {
      const room = roomOf(file.path);
      const allowed = ROOMS[room];
      if (allowed === undefined)
        return [`${room} is no room of the server; rooms are ${Object.keys(ROOMS).join(', ')}`];
      return file.imports.flatMap(({ specifier, typeOnly }) => {
        const target = targetOf(file, specifier);
        if (target === undefined || !target.startsWith('packages/server/src/')) return [];
        const to = roomOf(target);
        if (to === room && adapterOf(file.path) === adapterOf(target)) return [];
        // A port lives with the noun: adapters know its types and nothing else of it.
        if ((room === 'storage' || room === 'outbound') && NOUNS.includes(to) && !typeOnly)
          return [`imports ${target}, not only its types`];
        // storage/storage.ts and the like: the contract beside the adapters.
        if (to === room && adapterOf(target) === undefined) return [];
        return allowed.includes(to) ? [] : [`imports ${target}; ${room} may import ${allowed.join(', ')}`];
      });
    });
  });

  it('nouns and the gateway import no technology', () => {
    report(serverFiles(), (file) => {
      if (![...NOUNS, 'gateway'].includes(roomOf(file.path))) return [];
      return file.imports
        .filter(({ specifier }) => TECHNOLOGY.test(specifier))
        .map(({ specifier }) => `imports ${specifier}`);
    });
  });
});

describe('size', () => {
  it(`no file is over ${FILE_LINES_MAX} lines`, () => {
    report(files, (file) => (file.lines.length > FILE_LINES_MAX ? [`has ${file.lines.length} lines`] : []));
  });

  it(`the verifier can be read in an afternoon: ${VERIFIER_LINES_MAX} lines from a bundle to its verdict`, () => {
    const verifier = files.filter(({ path }) => path === 'packages/evidence/src/bundle/verify-bundle.ts');
    const read = importedFrom(verifier, files);
    assert.ok(read.length > 20, 'its imports are followed');
    const lines = read.reduce((sum, file) => sum + file.lines.length - 1, 0);
    assert.ok(lines <= VERIFIER_LINES_MAX, `it has ${lines} lines; leave what only makes or hurries outside`);
  });

  it(`no function is over ${FUNCTION_LINES_MAX} lines`, () => {
    report(code, (file) =>
      functionsOf(file)
        .filter(({ lineCount }) => lineCount > FUNCTION_LINES_MAX)
        .map(({ startLine, lineCount }) => `has a function of ${lineCount} lines at line ${startLine}`),
    );
  });

  it('measures functions, so that the rule above is not idle', () => {
    const lines = ['export function long(): void {', ...Array.from({ length: 80 }, () => '  work();'), '}'];
    const spans = functionsOf({ path: 'x.ts', text: '', lines, imports: [] });
    assert.deepEqual(spans, [{ startLine: 1, lineCount: 82 }]);
  });
});

describe('habits', () => {
  it('clock, chance, timers, process, console and clearances are touched in their homes only', () => {
    report(code, (file) =>
      HOMES.flatMap(({ call, home, instead }) =>
        home.test(file.path)
          ? []
          : file.lines.flatMap((line, i) =>
              call.test(codeIn(line)) ? [`line ${i + 1}: ${line.trim()} – ${instead}`] : [],
            ),
      ),
    );
  });

  it('the server imports nothing but types from node:http, which costs each start another HTTP client', () => {
    const values = /^(?:import|export) (?!type\b)[^;]*from 'node:http'|\bimport\('node:http'\)/m;
    report(serverFiles(), ({ text }) => (values.test(text) ? ['take values from runtime/node-http.ts'] : []));
  });

  it('every file opens by saying what it is for', () => {
    report(files, (file) =>
      isTest(file.path) || /^(#!.*\n)?\/\/ \S/.test(file.text) ? [] : ['does not begin with a comment'],
    );
  });

  it('file names say what is inside', () => {
    const empty = /(^|[/-])(utils?|helpers?|common|misc|manager|service|handler)([.-]|$)/;
    report(files, ({ path }) =>
      empty.test(path) || /[A-Z_]/.test(path.replace(/^.*\//, ''))
        ? ['says nothing, or is not kebab-case']
        : [],
    );
  });

  it('nothing is left undone, skipped or alone', () => {
    // Written so that this file does not hold the marks that it looks for.
    const mark = /\bTO[D]O\b|\bFIX[M]E\b|\bXX[X]\b|\.on[l]y\(|\.sk[i]p\(/;
    report(files, (file) =>
      file.lines.flatMap((line, i) => (mark.test(line) ? [`line ${i + 1}: ${line.trim()}`] : [])),
    );
  });

  it('rows of words are bounded by integers: by floating numbers, which is how ours are bound, FTS5 does not seek', () => {
    const unbounded = /\browid\s*(?:BETWEEN|[<>]=?)\s*\?/i;
    assert.match('rowid BETWEEN ? AND ?', unbounded);
    report(code, (file) =>
      file.lines.flatMap((line, i) => (unbounded.test(line) ? [`line ${i + 1}: ${line.trim()}`] : [])),
    );
  });

  it('nothing lies here that was not written here, such as an archive', () => {
    const written =
      /\.(ts|js|md|jsonl?|txt|svg|xsd|key|http|secrets|py|go|java|npmrc|gitignore)$|(^|\/)(LICENSE|run|(older-)?checkpoint)$|^vectors\/exports\/.*\.(ndjson|csv|xml|html)$|^deploy\/.*(\.(ya?ml|sh|mjs|service|sysusers|dockerignore)|\/Dockerfile)$|^packages\/contract\/interfaces\/.*\.(graphql|proto|wsdl|yaml)$/;
    assert.deepEqual(
      repositoryFiles().filter((path) => !written.test(path)),
      [],
    );
  });

  it('every file is used by something', () => {
    const entries =
      /\/src\/(page\/)?(index|main)\.ts$|^packages\/contract\/src\/(graphql|grpc|soap|mcp)\.ts$|\/bin\/|^bench\/main\.ts$|^(vectors|examples|bench\/(processes|peers)|tests\/faults\/processes)\/|^tests\/setup\/(main|run)\.ts$|^tests\/setup\/redirect\.js$|^packaging\/((pre|post)pack|sbom)\.ts$/;
    const roots = files.filter(({ path }) => entries.test(path) || path.endsWith('.test.ts'));
    const used = new Set(importedFrom(roots, files).map(({ path }) => path));
    report(files, ({ path }) => (used.has(path) ? [] : ['is imported by nothing; delete it or use it']));
  });
});

describe('documents', () => {
  it('every folder of the repository and every room of the server is in ARCHITECTURE.md', () => {
    const architecture = readText('ARCHITECTURE.md');
    const rooms = new Set(
      serverFiles()
        .map(({ path }) => roomOf(path))
        .filter((room) => room !== 'index'),
    );
    const packages = new Set(code.map(packageOf));
    for (const room of Object.keys(EVIDENCE_ROOMS)) rooms.add(room);
    const missing = [...rooms, ...packages].filter((name) => !new RegExp(`\\b${name}\\b`).test(architecture));
    assert.deepEqual(missing, []);
  });
});

function report(checked: readonly SourceFile[], faultsOf: (file: SourceFile) => string[]): void {
  assert.ok(checked.length > 0, 'no files were checked');
  const faults = checked.flatMap((file) => faultsOf(file).map((fault) => `${file.path} ${fault}`));
  assert.deepEqual(faults, []);
}

function serverFiles(): SourceFile[] {
  return code.filter(({ path }) => path.startsWith('packages/server/src/'));
}

function packageOf({ path }: SourceFile): string {
  return path.split('/')[1]!;
}

/** packages/server/src/events/ingest.ts is in events, packages/server/src/main.ts in main. */
function roomOf(path: string): string {
  return path.split('/')[3]!.replace(/\.ts$/, '');
}

/** Folders that are no adapters: what both backends do by the same code, on rows of any database; HTTP, below its mounts and below who asks others; and what all protocols make input of. */
const SHARED = [
  'storage/pool',
  'storage/rows',
  'storage/fsck',
  'storage/anchor',
  'storage/event-index',
  'storage/work',
  'storage/keys',
  'storage/sealing',
  'storage/tree',
  'storage/files',
  'storage/export-files',
  'protocols/http',
  'protocols/input',
  'protocols/protobuf',
  'protocols/streaming',
  'outbound/http',
];

/** Adapters of one kind never import one another: storage/sqlite does not know storage/postgres. */
function adapterOf(path: string): string | undefined {
  const [, , , room, adapter, inside] = path.split('/');
  if (SHARED.includes(`${room}/${adapter}`)) return undefined;
  return ['protocols', 'storage', 'outbound'].includes(room!) && inside !== undefined ? adapter : undefined;
}

/** What is left of a line when comments and the insides of texts are taken out. */
function codeIn(line: string): string {
  return line
    .replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, "''")
    .replace(/(^|\s)\/\/.*$/, '')
    .replace(/^\s*\/?\*.*$/, '');
}
