// The receivers of the webhook guide in other languages against the golden vectors. Each is run by a small program in receivers/, which
// says of every delivery whether it was accepted, and whether it came before.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { GOLDEN_FOLDER, goldenDeliveries, SENT_SECONDS } from '../golden-deliveries.ts';
import { ROOT } from '../source.ts';

const EXAMPLES = join(ROOT, 'examples/webhooks');
const RECEIVERS = join(import.meta.dirname, 'receivers');

interface Language {
  readonly name: string;
  readonly tool: string;
  /** Makes the program in the folder; gives the words that run it there. */
  readonly build: (folder: string) => readonly [string, ...string[]];
}

const LANGUAGES: readonly Language[] = [
  {
    name: 'Python',
    tool: 'python3 --version',
    build(folder) {
      copyFileSync(join(EXAMPLES, 'verify_delivery.py'), join(folder, 'verify_delivery.py'));
      copyFileSync(join(RECEIVERS, 'main.py'), join(folder, 'main.py'));
      return ['python3', 'main.py'];
    },
  },
  {
    name: 'Go',
    tool: 'go version',
    build(folder) {
      mkdirSync(join(folder, 'webhooks'));
      copyFileSync(join(EXAMPLES, 'verify_delivery.go'), join(folder, 'webhooks/verify_delivery.go'));
      copyFileSync(join(RECEIVERS, 'main.go'), join(folder, 'main.go'));
      writeFileSync(join(folder, 'go.mod'), 'module receiver\n\ngo 1.21\n');
      execFileSync('go', ['build', '-o', 'receiver', '.'], { cwd: folder });
      return [join(folder, 'receiver')];
    },
  },
  {
    name: 'Java',
    tool: 'javac -version',
    build(folder) {
      const sources = [join(EXAMPLES, 'VerifyDelivery.java'), join(RECEIVERS, 'Main.java')];
      execFileSync('javac', ['-encoding', 'UTF-8', '-d', folder, ...sources]);
      return ['java', '-cp', folder, 'Main'];
    },
  },
];

for (const { name, tool, build } of LANGUAGES)
  it(`in ${name} accepts what is genuine, once`, { skip: missing(tool) }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'tallystick-receiver-'));
    try {
      const [command, ...words] = build(folder);
      for (const seconds of [SENT_SECONDS, SENT_SECONDS + 300, SENT_SECONDS + 301, SENT_SECONDS - 3600]) {
        const args = [...words, GOLDEN_FOLDER, String(seconds)];
        const said = execFileSync(command, args, { cwd: folder, encoding: 'utf8' });
        assert.deepEqual(said.trimEnd().split('\n'), expected(seconds), String(seconds));
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

function expected(seconds: number): string[] {
  const isInTime = Math.abs(seconds - SENT_SECONDS) <= 300;
  const seen = new Set<string>();
  const lines = goldenDeliveries().flatMap(({ path, isValid, headers, secrets }) =>
    secrets.map((_, i) => {
      if (!isValid || !isInTime) return `${path} ${i} refused`;
      const id = headers['webhook-id']!;
      const isNew = !seen.has(id);
      seen.add(id);
      return `${path} ${i} ${isNew ? 'new' : 'repeat'} ${id}`;
    }),
  );
  return [...lines, 'after a day: new'];
}

function missing(tool: string): string | false {
  const [command, ...words] = tool.split(' ') as [string, ...string[]];
  try {
    execFileSync(command, words, { stdio: 'ignore' });
    return false;
  } catch {
    return `there is no ${command} on this machine`;
  }
}
