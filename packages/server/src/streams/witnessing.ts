// Has checkpoints cosigned: after one is published, the newest of its log is submitted to the witnesses of the policy,
// and what they sign is put under the stored note. Nothing waits for it, and no failure of it is one of the log. Where a
// witness has seen another log under our name, that is an alarm, and nothing of ours is changed by it.

import type { TenantId } from '@tallystick/contract';
import type { WitnessPolicy } from '@tallystick/evidence';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';
import { CosignatureStore } from './cosignature-store.ts';
import type { CosignedCheckpoint, LogTree, StoredCheckpoint, TreeReader, TreeWriter } from './tree.ts';
import { WitnessAlarms } from './witness-alarms.ts';
import { type AskWitnesses, isAway, type WitnessAnswer, type WitnessAnswers } from './witness-answers.ts';
import { type TurnEnd, WitnessQueue } from './witness-queue.ts';
import { WitnessRests } from './witness-rests.ts';
import { createWitnessed, type Witnessed } from './witnessed.ts';

export interface WitnessingParts {
  readonly policy: WitnessPolicy;
  readonly trees: Pick<TreeReader, 'tree'>;
  readonly writer: Pick<TreeWriter, 'cosign'>;
  readonly ask: AskWitnesses;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  /** Told of each note that has gained cosignatures, once it is stored. */
  readonly onCosigned?: (checkpoint: CosignedCheckpoint) => void;
}

export interface Witnessing extends AsyncDisposable {
  /** The tenant's log has a new checkpoint, or one of an earlier run. */
  published(tenant: TenantId): void;
  /** Until then nothing is submitted. */
  start(): void;
  figures(): WitnessingFigures;
}

export interface WitnessingFigures {
  /** How many logs a witness has seen otherwise. */
  readonly contradictedLogs: number;
  /** How many logs are submitted, or wait for it. */
  readonly openLogs: number;
}

/** Of so many logs is known what the witnesses have; of others, one more request tells. */
const LOGS_REMEMBERED_MAX = 10_000;

export function createWitnessing(parts: WitnessingParts): Witnessing {
  return new QueuedWitnessing(parts);
}

class QueuedWitnessing implements Witnessing {
  readonly #parts: WitnessingParts;
  readonly #witnessed: Witnessed;
  readonly #rests: WitnessRests;
  readonly #alarms: WitnessAlarms;
  readonly #store: CosignatureStore;
  readonly #queue: WitnessQueue;
  readonly #sizes = new Map<TenantId, Map<string, number>>();
  readonly #stop = new AbortController();

  constructor(parts: WitnessingParts) {
    const { policy, clock, random, telemetry, writer } = parts;
    this.#parts = parts;
    this.#witnessed = createWitnessed(policy);
    this.#rests = new WitnessRests(clock, random);
    this.#alarms = new WitnessAlarms(clock, telemetry);
    this.#store = new CosignatureStore(writer);
    this.#queue = new WitnessQueue({ clock, random, turn: (tenant) => this.#turn(tenant) });
  }

  published(tenant: TenantId): void {
    this.#queue.add(tenant);
  }

  start(): void {
    this.#queue.start();
  }

  figures(): WitnessingFigures {
    return { contradictedLogs: this.#alarms.logs(), openLogs: this.#queue.size() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the service stops'));
    await this.#queue[Symbol.asyncDispose]();
  }

  async #turn(tenant: TenantId): Promise<TurnEnd> {
    try {
      const tree = await this.#parts.trees.tree(tenant);
      const checkpoint = await tree?.latest();
      if (tree === undefined || checkpoint === undefined) return { kind: 'Done' };
      if (this.#witnessed.isWitnessed(checkpoint.note)) return { kind: 'Done' };
      return await this.#submit(tenant, tree, checkpoint);
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        this.#parts.telemetry.error('a checkpoint could not be submitted to witnesses', error, { tenant });
      }
      return { kind: 'Unmet', wasHeard: false };
    }
  }

  async #submit(tenant: TenantId, tree: LogTree, { size, note }: StoredCheckpoint): Promise<TurnEnd> {
    const { policy, ask } = this.#parts;
    const has = new Set(this.#witnessed.cosignersOf(note));
    const lacking = policy.witnesses.filter(({ name, url }) => url !== undefined && !has.has(name));
    const asked = new Set(lacking.map(({ name }) => name).filter((name) => this.#rests.take(name)));
    if (asked.size === 0) {
      return { kind: 'Held', untilMs: this.#rests.nextMs(lacking.map(({ name }) => name)) };
    }
    let fault: unknown;
    const prove = (oldSize: number) =>
      tree.consistency(oldSize, size).catch((error: unknown) => {
        fault = error;
        throw error;
      });
    let answers: WitnessAnswers;
    try {
      const sizes = this.#sizesOf(tenant);
      answers = await ask({ note, prove, policy: only(policy, asked), sizes, signal: this.#stop.signal });
    } catch (error) {
      for (const witness of asked) this.#rests.notAsked(witness);
      throw error;
    }
    const reports = answers.reports.filter(({ witness }) => asked.has(witness));
    this.#learn(reports, fault !== undefined);
    this.#alarms.take(tenant, reports);
    if (answers.note !== note) {
      const cosigned = { tenant, epoch: tree.epoch, size, note: answers.note };
      await this.#store.put(cosigned);
      this.#parts.onCosigned?.(cosigned);
    }
    // What failed on our side is not a matter of the witnesses.
    if (fault !== undefined) throw fault;
    const wasHeard = reports.some(({ outcome }) => outcome === 'Cosigned');
    return answers.isQuorum ? { kind: 'Done' } : { kind: 'Unmet', wasHeard };
  }

  /** What the answers say of the witnesses, whatever the log. */
  #learn(reports: readonly WitnessAnswer[], isOurFault: boolean): void {
    if (this.#stop.signal.aborted) return;
    const { telemetry } = this.#parts;
    let isSomebodyBack = false;
    for (const report of reports) {
      const { witness, message } = report;
      if (!isAway(report)) {
        if (!this.#rests.answered(witness)) continue;
        isSomebodyBack = true;
        telemetry.info('a witness answers again', { witness });
      } else if (isOurFault) {
        this.#rests.notAsked(witness);
      } else if (this.#rests.failed(witness)) {
        telemetry.warn('a witness gives no usable answer', { witness, why: message });
      }
    }
    if (isSomebodyBack) this.#queue.wake();
  }

  #sizesOf(tenant: TenantId): Map<string, number> {
    const sizes = this.#sizes.get(tenant) ?? new Map<string, number>();
    // The one that was asked for least recently stands first.
    this.#sizes.delete(tenant);
    this.#sizes.set(tenant, sizes);
    if (this.#sizes.size > LOGS_REMEMBERED_MAX) this.#sizes.delete(this.#sizes.keys().next().value!);
    return sizes;
  }
}

/** The policy with the addresses of these witnesses alone: the same quorum, and nobody else is asked. */
function only(policy: WitnessPolicy, names: ReadonlySet<string>): WitnessPolicy {
  const witnesses = policy.witnesses.map((witness) =>
    names.has(witness.name) ? witness : { name: witness.name, verifier: witness.verifier },
  );
  return { ...policy, witnesses };
}
