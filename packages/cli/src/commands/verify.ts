// tallystick verify: checks a bundle, the proof of one event or an export, offline, with nothing but the log's public key; a log
// that is served, at its address; or a data directory or a database, with all that is in it.
// Exit codes: 0 verified; 1 not verified; 2 could not run (no such file, no key, not a file of ours, no data).

import { statSync } from 'node:fs';
import {
  BundleVerifier,
  EvidenceError,
  parseEventProof,
  type Trust,
  verifyEventProof,
  type WitnessPolicy,
} from '@tallystick/evidence';
import { Command } from 'commander';
import { CannotRun } from '../cannot-run.ts';
import { isArchive, isUnpacked, verifyArchive } from '../verify/verify-archive.ts';
import { complain } from '../output/complain.ts';
import { configFileOption } from '../data-command.ts';
import { type EvidenceInput, openEvidence, shownInput } from '../verify/evidence-input.ts';
import { collect } from '../given-option.ts';
import { hostHashing } from '../verify/host-hashing.ts';
import { policyIn, requireQuorum } from '../verify/policy-option.ts';
import { trustOf } from '../verify/trust-options.ts';
import { verifyChainIn } from '../verify/verify-chain.ts';
import { printable } from '../output/printable.ts';
import { startProgress } from '../output/progress.ts';
import { isAddress, type LogOptions, requireNoLogOptions, verifyLogAt } from '../verify/verify-log.ts';
import {
  paintVerdict,
  type Report,
  reportBundle,
  reportEvent,
  reportRefusal,
} from '../verify/verify-report.ts';
import {
  isDatabase,
  refuseStoreOptions,
  type StoreOptions,
  verifyStore,
  withoutCredentials,
} from '../verify/verify-store.ts';

const VERIFY_EXIT = { verified: 0, notVerified: 1, couldNotRun: 2 } as const;

interface Options extends StoreOptions, LogOptions {
  readonly chain?: true;
  readonly json?: true;
}

export function verifyCommand(): Command {
  return new Command('verify')
    .summary('verify a bundle, a proof, an export, a log, a data directory or a database')
    .description(
      'Verifies a bundle (events with their proofs), the proof of one event or an export with its proofs, offline; a log that is served, at its ' +
        'address, against the checkpoint that was kept of it; or the data directory of a service, or its database, ' +
        'also while it runs: every entry and value, streams, tiles, checkpoints and the anchor. A database is named by ' +
        'Storage__Url, with the data directory that has its keys; or by its URL, with --key and --anchor.\n' +
        'Exit code 0: verified. 1: not verified, with the first index that does not fit and the reason. 2: could not run.',
    )
    .argument(
      '<file>',
      'a bundle, a proof as JSON or as text, the Zip of an export with proofs or the folder with its files, - for one of the first two on standard input, the address of a log, a data directory, or postgres://…',
    )
    .option(
      '--key <vkey>',
      "the log's public key, or a file that holds it; repeat while a key is rotated",
      collect,
    )
    .option('--since <file>', 'a checkpoint seen before: the log must extend it')
    .option(
      '--witness <vkey>',
      "a witness's public key, or a file that holds it; repeat for several",
      collect,
    )
    .option('--witnesses-min <n>', 'how many of the witnesses must have cosigned (default: all)')
    .option('--policy <file>', 'a witness policy: its quorum must have cosigned; in the place of --witness')
    .option(
      '--nothing-withheld',
      'refuse events that are not shown whole: for a reader who may see everything',
    )
    .option('--filter <json>', 'with --nothing-withheld: the filter that was asked for (default: none)')
    .option('--consistency <file>', 'with --since: a consistency proof, where the file holds none')
    .option(
      '--tenant <tenant>',
      'of a data directory or a database: this tenant alone; with the address of a service: whose log',
    )
    .option(
      '--anchor <path>',
      'of a data directory or a database: where the anchor is, if Log__Anchor keeps it elsewhere: a file, or the directory that has those of all nodes',
    )
    .option('--keyring <file>', 'of a data directory or a database: what opens sealed content there')
    .option(
      '--entries',
      'with an address: read every entry and tile, and not only what shows that the log grew',
    )
    .option(
      '--state <directory>',
      'with an address: where the newest checkpoint is kept (~/.local/state/tallystick)',
    )
    .option('--api-key <key>', 'with an address: what to log in with (default: TALLYSTICK_API_KEY)')
    .option(
      '--pin-first-key',
      'with an address seen for the first time: believe the key that it shows itself',
    )
    .option(
      '--accept-new-epoch',
      'with an address: go on although nothing shows that the log goes on from the one that was kept',
    )
    .option(
      '--without-index',
      'of a data directory or a database: do not compare the index, which takes longest',
    )
    .option('--verbose', 'of a data directory or a database: also say what is no part of the evidence')
    .option('--chain', 'of a folder with the files of a schedule: verify each, and that none is missing')
    .option('--json', 'print the verdict as JSON')
    .addOption(configFileOption())
    .action(act);
}

async function act(file: string, options: Options): Promise<void> {
  process.exitCode = await run(file, options);
}

async function run(file: string, options: Options): Promise<number> {
  const show = (report: Report): void => {
    process.stdout.write(options.json ? `${JSON.stringify(report.json)}\n` : paintVerdict(report.text));
  };
  try {
    if (isAddress(file)) {
      show(await verifyLogAt(file, options));
      return VERIFY_EXIT.verified;
    }
    const policy = await policyIn(options.policy);
    if (!isDatabase(file)) requireNoAddress(file);
    requireNoLogOptions(options);
    if (options.chain) {
      refuseStoreOptions(options);
      show(await verifyChainIn(file, { trust: await trustOf(options, policy), policy }));
      return VERIFY_EXIT.verified;
    }
    if (isDatabase(file) || (isDirectory(file) && !isUnpacked(file))) {
      if (policy !== undefined) throw new CannotRun('--policy is not for a data directory or a database');
      const { isVerified, report } = await verifyStore(file, options);
      show(report);
      return isVerified ? VERIFY_EXIT.verified : VERIFY_EXIT.notVerified;
    }
    refuseStoreOptions(options);
    if (isUnpacked(file) || isArchive(file)) {
      show(await verifyArchive(file, { trust: await trustOf(options, policy), policy }));
      return VERIFY_EXIT.verified;
    }
    // Before anything is asked for: of a file that is not there nothing can be verified.
    await using input = await openEvidence(file);
    show(await verifyEvidence(shownInput(file), input, { trust: await trustOf(options, policy), policy }));
    return VERIFY_EXIT.verified;
  } catch (error) {
    if (error instanceof EvidenceError) {
      show(reportRefusal(isDatabase(file) ? withoutCredentials(file) : shownInput(file), error));
      return VERIFY_EXIT.notVerified;
    }
    // Whatever went wrong here is not a verdict on the file.
    const why = error instanceof CannotRun ? error.message : String(error);
    complain(printable(why));
    return VERIFY_EXIT.couldNotRun;
  }
}

async function verifyEvidence(
  shown: string,
  { content, bytes }: EvidenceInput,
  { trust, policy }: { readonly trust: Trust; readonly policy: WitnessPolicy | undefined },
): Promise<Report> {
  if (content.kind === 'Proof') {
    const verdict = await verifyEventProof(parseEventProof(content.text), trust);
    requireQuorum(verdict.checkpoint.cosignedBy, policy);
    return reportEvent(shown, verdict);
  }
  const verifier = new BundleVerifier(trust, hostHashing());
  using progress = startProgress(`verifying ${shown}`, 'bytes', { total: bytes });
  for await (const chunk of content.chunks) {
    verifier.push(chunk);
    progress.add(chunk.length);
  }
  const verdict = await verifier.finish();
  requireQuorum(verdict.checkpoint.cosignedBy, policy);
  return reportBundle(shown, verdict);
}

/** An address that is none of a log's is not a file, either. */
function requireNoAddress(file: string): void {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(file)) return;
  throw new CannotRun(
    `${file} is an address of an unknown kind: that of a log begins with https:// or http://`,
  );
}

function isDirectory(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() === true;
}
