import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { utf8 } from '../bytes.ts';
import { signCheckpoint, cosigner, noteSigner, signatureLine } from '../note/signer.ts';
import { EvidenceError } from '../errors.ts';
import { noteVerifier, parseNote } from '../note/note.ts';
import { sha256 } from '../hash/sha256.ts';
import { mutateText, seeded } from '../testing/mutations.ts';
import { refusal } from '../testing/refusal.ts';
import { isQuorum, parsePolicy, POLICY_LINES_MAX, type WitnessPolicy } from './policy.ts';
import { cosignaturesBy, verifyByPolicy } from './verify-policy.ts';
import { runs } from '../testing/size.ts';

const SEED = 20260212;
const TIME = 1767323046;
const seedOf = (name: string) => sha256(utf8(`seed of ${name}`));
const log = await noteSigner('audit.example.com/t/acme', seedOf('log'));
const otherLog = await noteSigner('audit.example.com/t/other', seedOf('other log'));
const NAMES = ['x1', 'x2', 'x3', 'y1', 'y2', 'y3'] as const;
const witnesses = await Promise.all(NAMES.map((name) => cosigner(`${name}.example/w`, seedOf(name))));
const [X1, X2] = witnesses.map(({ verifierKey }) => verifierKey) as [string, string];
const witnessLine = (i: number) => `witness ${NAMES[i]} ${witnesses[i]!.verifierKey}`;

const POLICY = `# who must have seen it
log ${log.verifierKey} https://audit.example.com/log

${[0, 1, 2].map(witnessLine).join('\n')}
group X 2 x1 x2 x3
${[3, 4, 5].map(witnessLine).join('\n')} https://y3.example/submit
\tgroup  Y\tany y1 y2 y3${' '}
group both all X Y
quorum both
`;

const head = { origin: log.name, size: 7, root: sha256(utf8('root')) };
const note = await signCheckpoint(head, [log]);
const cosigned = async (by: readonly number[], of = note) => {
  const lines = by.map(async (i) => signatureLine(await witnesses[i]!.cosign(parseNote(of).text, TIME + i)));
  return of + (await Promise.all(lines)).join('');
};

test('reads logs, witnesses, groups and the quorum', async () => {
  const policy = await parsePolicy(POLICY);
  assert.deepEqual(
    policy.logs.map(({ verifier, url }) => [verifier.name, url]),
    [[log.name, 'https://audit.example.com/log']],
  );
  assert.deepEqual(
    policy.witnesses.map(({ name, verifier, url }) => [name, verifier.name, url]),
    NAMES.map((name) => [name, `${name}.example/w`, name === 'y3' ? 'https://y3.example/submit' : undefined]),
  );
  assert.deepEqual(policy.groups, [
    { name: 'X', membersMin: 2, members: ['x1', 'x2', 'x3'] },
    { name: 'Y', membersMin: 1, members: ['y1', 'y2', 'y3'] },
    { name: 'both', membersMin: 2, members: ['X', 'Y'] },
  ]);
  assert.equal(policy.quorum, 'both');
});

test('a quorum is met by groups of groups, and by nothing less', async () => {
  const policy = await parsePolicy(POLICY);
  const table: [string[], boolean][] = [
    [[], false],
    [['x1', 'x2'], false],
    [['y1', 'y2', 'y3'], false],
    [['x1', 'y1'], false],
    [['x1', 'x3', 'y2'], true],
    [[...NAMES], true],
    [['x1', 'x1', 'x1', 'y1'], false],
    [['both'], false],
    [['X', 'Y'], false],
    [['x1', 'x2', 'Y'], false],
  ];
  for (const [names, isMet] of table) assert.equal(isQuorum(policy, names), isMet, names.join(' '));
});

test('a quorum is also one witness, or nobody', async () => {
  const one = await parsePolicy(`witness a ${X1}\nwitness b ${X2}\nquorum b\n`);
  assert.deepEqual([isQuorum(one, ['a']), isQuorum(one, ['b'])], [false, true]);
  const nobody = await parsePolicy('quorum none\n');
  assert.deepEqual([nobody.quorum, isQuorum(nobody, [])], [undefined, true]);
  const later = await parsePolicy(`witness a ${X1}\nquorum a\nwitness b ${X2}`);
  assert.equal(later.witnesses.length, 2, 'and lines may follow, the last without a newline');
});

test('says which line breaks which rule', async () => {
  const a = `witness a ${X1}\n`;
  const ab = `${a}witness b ${X2}\n`;
  const sameKey = (await cosigner('elsewhere.example/w', seedOf('x1'))).verifierKey;
  const sameLogKey = (await noteSigner('audit.example.com/t/globex', seedOf('log'))).verifierKey;
  const table: [string, number | undefined, RegExp][] = [
    ['', undefined, /no quorum line/],
    [a, undefined, /no quorum line/],
    ['witnes a b\n', 1, /"witnes" is not log, witness, group or quorum/],
    ['Quorum none\n', 1, /"Quorum" is not/],
    ['\n\nquorum\n', 3, /a quorum is: quorum <name, or none>/],
    ['quorum none none\n', 1, /a quorum is/],
    ['quorum none\n# again\nquorum none\n', 3, /this is the second/],
    ['quorum a\nwitness a x\n', 1, /"a" is no witness and no group of a line above/],
    [`witness a\n`, 1, /a witness is/],
    [`witness a ${X1} https://a b\n`, 1, /a witness is/],
    [`witness none ${X1}\n`, 1, /none is the name of no witness/],
    [`${a}witness a ${X2}\n`, 2, /the name "a" is taken/],
    [`${a}witness b ${X1}\n`, 2, /key of this witness stands on a line above/],
    [`${a}witness b ${sameKey}\n`, 2, /key of this witness stands on a line above/],
    [`witness a ${log.verifierKey}\n`, 1, /type 1, not 4/],
    [`witness a ${X1.replace(/\+[0-9a-f]{8}\+/, '+00000000+')}\n`, 1, /id 00000000/],
    ['witness a 4644af2abd40f4895a003bca350f9d5912ab301a49c77f13e5b6d905c20a5fe6\n', 1, /name\+id\+key/],
    ['log\n', 1, /a log is/],
    [`log ${X1}\n`, 1, /type 4, not 1/],
    [`log ${log.verifierKey}\nlog ${log.verifierKey}\n`, 2, /key of this log stands on a line above/],
    [`log ${log.verifierKey}\nlog ${sameLogKey}\n`, 2, /key of this log stands on a line above/],
    [`${a}group g any\n`, 2, /a group is/],
    [`${a}group g a\n`, 2, /a group is/],
    [`${a}group g some a\n`, 2, /"some" is not any, all or a number from 1 to 1/],
    ...['0', '2', '01', '-1', '1.0', '1e0', '٣'].map((k): [string, number, RegExp] => [
      `${a}group g ${k} a\n`,
      2,
      /number from 1 to 1/,
    ]),
    [`${a}group g any b\n`, 2, /"b" is no witness and no group/],
    [`${a}group g any g\n`, 2, /"g" is no witness and no group/],
    [`${a}group g any none\n`, 2, /"none" is no witness/],
    [`${a}group g any a a\n`, 2, /"a" is a member already/],
    [`${ab}group g any a b\ngroup h any b\n`, 4, /"b" is a member already/],
    [`${a}group a any a\n`, 2, /name "a" is taken/],
    [`${a}\rquorum a\n`, 2, /control character "\\r"/],
    [`# a comment\u0000\nquorum none\n`, 1, /control character/],
    [`quorum none\u00a0\n`, 1, /is no witness/],
  ];
  for (const [text, line, message] of table) {
    await assert.rejects(parsePolicy(text), (error: unknown) => {
      assert.ok(error instanceof EvidenceError, String(error));
      assert.deepEqual([error.reason, error.line], ['MALFORMED', line], text);
      assert.match(error.message, message);
      if (line !== undefined) assert.match(error.message, new RegExp(`^line ${line}: `));
      return true;
    });
  }
});

test(`has room for ${POLICY_LINES_MAX} witnesses and says when there are more`, async () => {
  const keys = await Promise.all(
    Array.from({ length: POLICY_LINES_MAX + 1 }, (_, i) => cosigner(`w${i}`, seedOf(`many ${i}`))),
  );
  const lines = keys.map(({ name, verifierKey }) => `witness ${name} ${verifierKey}\n`);
  const most = await parsePolicy(`${lines.slice(0, -1).join('')}quorum none\n`);
  assert.equal(most.witnesses.length, 64);
  await assert.rejects(
    parsePolicy(`${lines.join('')}quorum none\n`),
    /line 65: policy has more than 64 witnesses/,
  );
});

test('tells who cosigned a note, by the names of the policy', async () => {
  const policy = await parsePolicy(POLICY);
  assert.deepEqual(await cosignaturesBy(policy, note), []);
  assert.deepEqual(await cosignaturesBy(policy, await cosigned([4, 0])), [
    { witness: 'y2', timeSeconds: TIME + 4 },
    { witness: 'x1', timeSeconds: TIME },
  ]);
});

test('a checkpoint verifies if its log is known and the quorum has cosigned', async () => {
  const policy = await parsePolicy(POLICY);
  const { checkpoint, cosignatures } = await verifyByPolicy(policy, await cosigned([0, 1, 3]));
  assert.equal(checkpoint.size, 7);
  assert.deepEqual(
    cosignatures.map(({ witness }) => witness),
    ['x1', 'x2', 'y1'],
  );
  await assert.rejects(verifyByPolicy(policy, await cosigned([0, 3])), refusal('WITNESS_MISSING'));
  // One witness that says it twice is one witness.
  await assert.rejects(verifyByPolicy(policy, await cosigned([0, 0, 3])), refusal('WITNESS_MISSING'));
  const strange = await signCheckpoint({ ...head, origin: otherLog.name }, [otherLog]);
  await assert.rejects(verifyByPolicy(policy, await cosigned([0, 1, 3], strange)), refusal('KEY_UNKNOWN'));
  const forged = await cosigned([0, 1, 3], note.replace('\n7\n', '\n8\n'));
  await assert.rejects(verifyByPolicy(policy, forged), refusal('SIGNATURE_INVALID'));
  const moved = (await cosigned([0, 1, 3])).replace('\n7\n', '\n8\n');
  await assert.rejects(verifyByPolicy(policy, moved), refusal('SIGNATURE_INVALID'));
});

test('without logs in the policy the reader says which one it is, and nobody is believed unsaid', async () => {
  const policy = await parsePolicy(`witness a ${X1}\nquorum a\n`);
  const signed = await cosigned([0]);
  await assert.rejects(verifyByPolicy(policy, signed), refusal('KEY_UNKNOWN'));
  const verdict = await verifyByPolicy(policy, signed, [await noteVerifier(log.verifierKey)]);
  assert.deepEqual(verdict.cosignatures, [{ witness: 'a', timeSeconds: TIME }]);
});

test(`a quorum is never lost by one more cosignature, and is what counting by hand says (seed ${SEED})`, async () => {
  const base = await parsePolicy(POLICY);
  /** Splits the witnesses into groups, some of those into a group above, with any threshold that is allowed. */
  const policies = fc
    .array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.nat()), { minLength: 1, maxLength: 5 })
    .map((cuts): WitnessPolicy => {
      let free: string[] = [...NAMES];
      const groups = cuts.flatMap(([count, k], i) => {
        const members = free.slice(0, count);
        if (members.length === 0) return [];
        free = [...free.slice(count), `g${i}`];
        return [{ name: `g${i}`, membersMin: 1 + (k % members.length), members }];
      });
      return { ...base, groups, quorum: groups.at(-1)!.name };
    });
  const byHand = ({ groups }: WitnessPolicy, names: Set<string>, name: string): boolean => {
    const group = groups.find((each) => each.name === name);
    if (group === undefined) return names.has(name);
    return (
      group.members.filter((each) => byHand({ ...base, groups }, names, each)).length >= group.membersMin
    );
  };
  fc.assert(
    fc.property(policies, fc.subarray([...NAMES]), fc.constantFrom(...NAMES), (policy, names, more) => {
      const isMet = isQuorum(policy, names);
      assert.equal(isMet, byHand(policy, new Set(names), policy.quorum!));
      if (isMet) assert.ok(isQuorum(policy, [...names, more]));
    }),
    { seed: SEED, numRuns: runs(2000) },
  );
});

test(`no text breaks the reader of policies (seed ${SEED})`, async () => {
  const random = seeded(SEED);
  let accepted = 0;
  for (let i = 0; i < 600; i++) {
    try {
      await parsePolicy(mutateText(POLICY, random));
      accepted++;
    } catch (error) {
      refusal('MALFORMED')(error);
    }
  }
  assert.ok(accepted > 10, `only ${accepted} policies were accepted`);
});
