// Who may call what, over every protocol: the cases of the table that the gateway is tested with, on a service whose operations
// all answer the same once they are reached. One case of each verdict by each means; FAULTS=long asks them all.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import {
  AuditError,
  isOffered,
  type Operation,
  type OperationName,
  OPERATIONS,
  operationsIn,
} from '@tallystick/contract';
import type { Operations } from '../../packages/server/src/operations.ts';
import {
  type AccessCase,
  createCredentials,
  type CredentialMaker,
  grantedCases,
  refusedCases,
  type Sender,
} from '../../packages/server/src/testing/access-cases.ts';
import { ACCESS_TABLE, type AccessRow } from '../../packages/server/src/testing/access-table.ts';
import { WITH_PLATFORM_KEY } from '../../packages/server/src/testing/admin-caller.ts';
import { startTestApp } from '../../packages/server/src/testing/test-app.ts';
import { sampleInput } from './sample-inputs.ts';
import type { Spoken } from './speaker.ts';

/** No operation that a protocol besides REST offers answers this. */
const REACHED = 'TILE_NOT_FOUND';
const reached = () => Promise.reject(new AuditError(REACHED, 'The operation was reached.'));
/** The function of each operation; nothing is validated before it, and no key is looked up. */
const STUBS = Object.fromEntries(
  OPERATIONS.map(({ name }) => [name, { performUnvalidated: reached, answerAgain: reached }]),
) as object as Operations;

interface Question extends Omit<AccessCase, 'by'> {
  readonly operation: Operation<OperationName>;
  readonly by: Sender;
}

export function checkAccess(spoken: Spoken): void {
  it(`over ${spoken.protocol} everybody may what the table says, and nothing else`, async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'tallystick-access-'));
    try {
      const settings = {
        ...WITH_PLATFORM_KEY,
        ...spoken.settings,
        Telemetry__Level: 'Warn',
        Storage__DataDirectory: dataDirectory,
      };
      const questions = await questionsWith(settings, spoken);
      await using app = await startTestApp(settings, { operations: STUBS });
      await using speaker = await spoken.speak(app);
      const wrong: string[] = [];
      for (const { operation, who, by, expected } of questions) {
        const { kind, error } = await speaker.ask(operation.name, sampleInput(operation), by);
        const told = error?.code === REACHED ? 'LetIn' : (error?.code ?? kind);
        if (told !== expected) wrong.push(`${operation.name}, ${who}: ${told} in place of ${expected}`);
      }
      assert.deepEqual(wrong, []);
      assert.ok(questions.length > 100, `${questions.length} questions`);
    } finally {
      rmSync(dataDirectory, { recursive: true, force: true });
    }
  });
}

/** Their keys are made while there are still operations that make keys. */
async function questionsWith(settings: Record<string, string>, spoken: Spoken): Promise<Question[]> {
  await using app = await startTestApp(settings);
  const credentials = await createCredentials(app);
  const offered = new Map<string, Operation<OperationName>>(
    operationsIn(spoken.versions[0]!)
      .filter((each) => isOffered(each, spoken.protocol))
      .map((each) => [each.name, each]),
  );
  const questions: Question[] = [];
  for (const row of ACCESS_TABLE) {
    const operations = row.operations.flatMap((name) => offered.get(name) ?? []);
    for (const [i, operation] of operations.entries())
      for (const each of casesOf(row, operation, i === 0, credentials))
        questions.push({ ...each, operation, by: await each.by() });
  }
  return questions;
}

/** Those that hang on the permission; for one operation of each permission all credentials that are none, too. */
function casesOf(
  row: AccessRow,
  operation: Operation,
  isFirst: boolean,
  maker: CredentialMaker,
): AccessCase[] {
  const granted = grantedCases(row, maker);
  const refused = refusedCases(row, operation, maker).filter((each) => !each.isLinked);
  if (process.env['FAULTS'] === 'long') return [...granted, ...refused];
  const one = Map.groupBy(granted, ({ means, expected }) => `${means}: ${expected}`);
  const some = isFirst ? refused : refused.filter(({ who }) => who === 'nobody');
  return [...[...one.values()].map(([first]) => first!), ...some];
}
