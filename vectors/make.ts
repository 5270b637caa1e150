// Makes the project's own vectors: a small log in every form it can be handed over in, and the same with one
// sin each. Everything is deterministic, so the files in valid/ and invalid/ can be made again and compared.

import {
  closeUnits,
  cosigner,
  epochGenesisHash,
  formatEventProof,
  formatEventProofText,
  KINDS,
  parseNote,
  sha256,
  signatureLine,
  withholdContent,
} from '@tallystick/evidence';
import { sampleEvent, SampleLog } from '../packages/evidence/src/testing/sample-log.ts';
import { linesWithDeletions, LOG_SIZE, logWithDeletions, sampleLog, text } from './samples.ts';
import { addSinsAgainstForm } from './sins/against-form.ts';
import { addSinsAgainstHistory } from './sins/against-history.ts';
import { addSinsAgainstTrust } from './sins/against-trust.ts';

/** File path under vectors/ → its text. */
type Files = Map<string, string>;

export async function makeVectors(): Promise<Files> {
  const files: Files = new Map();
  const log = await sampleLog();
  await addWhole(files, log);
  await addShownInPart(files, log);
  await addDeleted(files);
  await addProofs(files, log);
  await addCosigned(files, log);
  await addAfterRestore(files);
  await addAnchorLoss(files);
  const sins: Files = new Map();
  await addSinsAgainstForm(sins, log);
  await addSinsAgainstHistory(sins, log);
  await addSinsAgainstTrust(sins, log);
  for (const [path, sin] of sins) files.set(`invalid/${path}`, sin);
  return files;
}

async function addWhole(files: Files, log: SampleLog): Promise<void> {
  files.set('valid/log.key', `${log.signer.verifierKey}\n`);
  files.set('valid/checkpoint', await log.checkpoint());
  files.set('valid/older-checkpoint', await log.checkpoint(7));
  files.set('valid/whole-log.jsonl', text(await log.bundle()));
  files.set('valid/range-in-the-middle.jsonl', text(await log.bundle({ from: 5, to: 12 })));
  files.set('valid/one-entry.jsonl', text(await log.bundle({ from: 19, to: 20 })));
  files.set('valid/empty-range.jsonl', text(await log.bundle({ from: 20, to: 20 })));
  files.set('valid/empty-log.jsonl', text(await (await SampleLog.create()).bundle()));
}

async function addShownInPart(files: Files, log: SampleLog): Promise<void> {
  const withheld = log.entries.map(({ entry, shown }, i) => ({
    entry,
    shown: i % 4 === 0 ? withholdContent(shown) : shown,
  }));
  files.set('valid/content-withheld.jsonl', text(await log.bundle({ lines: withheld })));
  const scattered = [1, 2, 8, 15].map((index) => log.provenLine(index));
  const filter = { query: 'actor:u-1' };
  files.set('valid/scattered.jsonl', text(await log.bundle({ complete: false, filter, lines: scattered })));
  const proven = log.entries.map(({ entry, shown }, i) => {
    if (i % 7 === 1) return { entry, shown };
    return { entry, shown: closeUnits(withholdContent(shown), (path) => path !== '/actor/userId') };
  });
  const conditions = [{ path: '/actor/userId', values: ['"u-1"'] }];
  files.set(
    'valid/filtered-and-complete.jsonl',
    text(await log.bundle({ filter: conditions, lines: proven })),
  );
}

async function addDeleted(files: Files): Promise<void> {
  const log = await logWithDeletions();
  files.set('valid/deleted-under-notices.jsonl', text(await log.bundle({ lines: linesWithDeletions(log) })));
  const filter = [{ path: '/payload/note', values: ['"payment 1"'] }];
  const filtered = text(await log.bundle({ filter, lines: linesWithDeletions(log) }));
  files.set('valid/filtered-unit-deleted.jsonl', filtered);
  const outside = { from: 1, to: 9, lines: linesWithDeletions(log, 1, 9), notices: [10, 11] };
  files.set('valid/deleted-under-notices-outside.jsonl', text(await log.bundle(outside)));
}

/** A log whose anchor was lost: a notice names what was known of it then. */
async function addAnchorLoss(files: Files): Promise<void> {
  const log = await sampleLog();
  const [, size, root] = parseNote(await log.checkpoint()).text.split('\n');
  log.notice(KINDS.administration, {
    act: 'AnchorLossAccepted',
    requestId: '01KE0000000000000000000001',
    subjectIds: [],
    count: 1,
    signedSize: Number(size),
    signedRoot: root,
  });
  files.set('valid/anchor-loss-accepted.jsonl', text(await log.bundle()));
}

async function addProofs(files: Files, log: SampleLog): Promise<void> {
  const whole = await log.proofOf(13);
  const withheld = await log.proofOf(13, withholdContent(log.entries[13]!.shown));
  files.set('valid/event-proof.json', `${formatEventProof(whole)}\n`);
  files.set('valid/event-proof.txt', formatEventProofText(whole));
  files.set('valid/event-proof-withheld.json', `${formatEventProof(withheld)}\n`);
  files.set('valid/event-proof-withheld.txt', formatEventProofText(withheld));
}

async function addCosigned(files: Files, log: SampleLog): Promise<void> {
  const witness = await cosigner(
    'witness.example.org/w1',
    sha256(new TextEncoder().encode('audit-trail test witness')),
  );
  const note = await log.checkpoint();
  const cosigned = note + signatureLine(await witness.cosign(parseNote(note).text, 1_767_323_100));
  const bundle = text(await log.bundle()).replace(JSON.stringify(note), JSON.stringify(cosigned));
  files.set('valid/witness.key', `${witness.verifierKey}\n`);
  files.set('valid/cosigned.jsonl', bundle);
}

/** A log that goes on under a new origin: its first entry is a notice that names what was before. */
async function addAfterRestore(files: Files): Promise<void> {
  const before = await sampleLog();
  const previousCheckpoint = parseNote(await before.checkpoint()).text;
  const log = await SampleLog.create('audit.example.com/t/acme/2', (origin) =>
    epochGenesisHash(origin, previousCheckpoint),
  );
  log.notice(KINDS.newEpoch, {
    previousOrigin: before.origin,
    anchoredSize: LOG_SIZE,
    anchoredRoot: previousCheckpoint.split('\n')[2]!,
    restoredSize: 15,
  });
  log.append(sampleEvent(1));
  files.set('valid/after-restore.key', `${log.signer.verifierKey}\n`);
  files.set('valid/after-restore.jsonl', text(await log.bundle({ previousCheckpoint })));
}
