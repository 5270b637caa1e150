// The tamper drill: makes a store, tampers with copies of it in one way after the other, and shows what the verifier
// finds, and by what. See README.md beside this file.
//
//   node --conditions=source examples/tamper-drill/main.ts [--all] [--keep] [name…]

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { makeTrail, type Trail } from './make-trail.ts';
import { type Tampering, TAMPERINGS } from './tamperings.ts';
import { find, type Finding } from './find.ts';
import { Victim } from './victim.ts';

interface Result {
  readonly tampering: Tampering;
  readonly finding: Finding;
}

const { values: options, positionals: names } = parseArgs({
  options: { all: { type: 'boolean' }, keep: { type: 'boolean' } },
  allowPositionals: true,
});
const folder = mkdtempSync(join(tmpdir(), 'tallystick-tamper-drill-'));

try {
  process.exitCode = await drill();
} finally {
  if (options.keep) say(`\nEverything is kept in ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
}

async function drill(): Promise<number> {
  const unknown = names.find((name) => named(name) === undefined);
  if (unknown !== undefined) {
    say(`There is no tampering ${unknown}. There are: ${TAMPERINGS.map(({ name }) => name).join(', ')}`);
    return 2;
  }
  say(
    'A service takes 12 payments of the tenant acme, and is stopped. An auditor has fetched key and checkpoint.',
  );
  const trail = await makeTrail(folder);
  const untouched = await find(trail.store, trail.auditor);
  say(
    `  store     ${trail.store}\n  verified  ${untouched.by === 'nobody' ? 'yes, by everything at hand' : 'NO'}`,
  );
  const results: Result[] = [];
  for await (const tampering of chosen()) results.push(await show(tampering, trail));
  if (results.length > 0) say(table(results));
  const isAsSaid = results.every(
    ({ tampering, finding }) => finding.by === tampering.foundBy && finding.reason === tampering.reason,
  );
  return untouched.by === 'nobody' && isAsSaid ? 0 : 1;
}

/** Those that were named; all of them where nobody can be asked; else one after the other, as the user wishes. */
async function* chosen(): AsyncGenerator<Tampering> {
  if (names.length > 0) return yield* names.flatMap((name) => named(name) ?? []);
  if (options.all || !process.stdin.isTTY) return yield* TAMPERINGS;
  using terminal = createInterface({ input: process.stdin, output: process.stdout });
  say(`\n${TAMPERINGS.map(({ name }, i) => `${String(i + 1).padStart(3)}  ${name}`).join('\n')}`);
  terminal.setPrompt('\nWhich one? A number, a name, "all", or nothing to end: ');
  terminal.prompt();
  for await (const line of terminal) {
    const answer = line.trim();
    if (answer === '') return;
    if (answer === 'all') return yield* TAMPERINGS;
    const tampering = TAMPERINGS[Number(answer) - 1] ?? named(answer);
    if (tampering !== undefined) yield tampering;
    terminal.prompt();
  }
}

function named(name: string): Tampering | undefined {
  return TAMPERINGS.find((tampering) => tampering.name === name);
}

async function show(tampering: Tampering, trail: Trail): Promise<Result> {
  const directory = mkdtempSync(join(folder, `${tampering.name}-`));
  const victim = new Victim(trail, directory);
  say(`\n${tampering.name}\n  ${tampering.story}`);
  await tampering.tamper(victim, trail);
  for (const line of victim.done) say(`    ${line}`);
  const finding = await find(directory, trail.auditor);
  say(finding.steps.map(({ by, said }) => `  ${`with ${by}`.padEnd(29)} ${said}`).join('\n'));
  if (options.keep || process.stdin.isTTY) {
    const { keyFile, checkpointFile } = trail.auditor;
    say(`  try: npx tallystick verify ${directory} --key ${keyFile} --since ${checkpointFile}`);
  }
  return { tampering, finding };
}

function table(results: readonly Result[]): string {
  const rows: [string, string, string][] = [
    ['tampering', 'found by', 'reason'],
    ...results.map(({ tampering, finding }): [string, string, string] => [
      tampering.name,
      finding.by,
      finding.reason ?? '–',
    ]),
  ];
  const [one, two] = [0, 1].map((i) => Math.max(...rows.map((row) => row[i]!.length)));
  return `\n${rows.map(([name, by, reason]) => `${name.padEnd(one!)}  ${by.padEnd(two!)}  ${reason}`).join('\n')}`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
