// npm run test:mutants [-- [--quick] PATH…]: makes one mistake after the other in the verifier and runs its tests. A
// mistake that no test notices is printed; so is one that is listed as equivalent and no longer made. Fails at either.
// PATH is the beginning of a path in packages/evidence/src, such as bundle/ or note/note.ts; --quick runs only the
// quick tests of a file, or of its room if it has none.

import { listedAs, mutantsByFile, readEquivalents } from './equivalents.ts';
import { type Outcome, Sandbox } from './sandbox.ts';
import { isVerifier } from './verifier.ts';

const asked = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const isQuick = process.argv.includes('--quick');

using sandbox = new Sandbox();
process.once('SIGINT', () => process.exit(1)).once('exit', () => sandbox[Symbol.dispose]());
const texts = new Map(sandbox.files().map((path) => [path, sandbox.read(path)]));
const wanted = [...texts.keys()].filter(
  (path) => isVerifier(path) && (asked.length === 0 || asked.some((part) => path.startsWith(part))),
);
if (wanted.length === 0) {
  process.stderr.write(`no file of the verifier begins with ${asked.join(' or ')}\n`);
  process.exit(2);
}
const mutants = mutantsByFile(texts);
const listed = readEquivalents();
let faults = 0;

for (const path of wanted) {
  const tests = await sandbox.testsFor(path, isQuick);
  const counts: Record<Outcome | 'Equivalent', number> = {
    Killed: 0,
    TimedOut: 0,
    Survived: 0,
    Equivalent: 0,
  };
  const unmade = new Set(listed.filter(({ file }) => file === path));
  for (const { text, was, becomes } of mutants.get(path) ?? []) {
    const known = listedAs(listed, { file: path, was, becomes });
    if (known !== undefined) {
      unmade.delete(known);
      counts.Equivalent++;
      continue;
    }
    const outcome = await sandbox.outcomeOf(path, text, tests);
    counts[outcome]++;
    if (outcome === 'Survived') print(`${path} survived\n  ${was}\n  ${becomes}`);
  }
  for (const { was, becomes } of unmade)
    print(`${path} is listed and no longer made\n  ${was}\n  ${becomes}`);
  faults += counts.Survived + unmade.size;
  const { Killed, TimedOut, Survived, Equivalent } = counts;
  print(`${path}: ${Killed} killed, ${TimedOut} timed out, ${Survived} survived, ${Equivalent} equivalent`);
}
process.exitCode = faults === 0 ? 0 : 1;

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
