// Has checkpoints cosigned: after a checkpoint is published, the newest of its log is submitted to the witnesses of the
// policy, and their signatures are added to the stored note. Nothing waits for this, and its failures do not affect the
// log. A witness that has seen another log under our name raises an alarm, and changes nothing else.

import type { TenantId } from '@tallystick/contract';
import type { WitnessPolicy } from '@tallystick/evidence';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { Telemetry } from '../../telemetry.ts';
import { CosignatureStore } from './cosignature-store.ts';
import type { CosignedCheckpoint, LogTree, StoredCheckpoint, TreeWriter, TreesWith } from '../tree.ts';
import { WitnessAlarms } from './alarms.ts';
import type { AskWitnesses, WitnessResponse, WitnessResponses } from './ask-witnesses.ts';
import { Pauses } from './pauses.ts';
import { type TurnEnd, WitnessQueue } from './queue.ts';
import { createWitnessed, type Witnessed } from './witnessed.ts';

export interface WitnessingParts {
  readonly policy: WitnessPolicy;
  readonly trees: TreesWith<'tree'>;
  readonly writer: Pick<TreeWriter, 'cosign'>;
  readonly ask: AskWitnesses;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  /** Called for each note that has gained cosignatures, once it is stored. */
  readonly onCosigned?: (checkpoint: CosignedCheckpoint) => void;
}

export interface Witnessing extends AsyncDisposable {
  /** The tenant's log has a new checkpoint, or one of an earlier run. */
  published(tenant: TenantId): void;
  /** Nothing is submitted before. */
  start(): void;
  figures(): WitnessingFigures;
}

export interface WitnessingFigures {
  /** The number of logs of which a witness has seen another version. */
  readonly contradictedLogs: number;
  /** The number of logs that are submitted, or wait for it. */
  readonly openLogs: number;
}

/** The state of a log's witnesses, kept between submissions. */
interface LogMemory {
  /** The last size of each witness; if it is forgotten, one more request finds it. */
  readonly sizes: Map<string, number>;
  /** Witnesses that did not cosign this log, and may still cosign others. */
  readonly refusals: Pauses;
}

const LOGS_REMEMBERED_MAX = 10_000;
const WAIT_MS_MAX = 60_000;

interface Learning extends Pick<LogMemory, 'refusals'> {
  /** A proof could not be made, or the service is stopping: a failure then says nothing about the witness. */
  readonly isOurFault: boolean;
}

export function createWitnessing(parts: WitnessingParts): Witnessing {
  return new QueuedWitnessing(parts);
}

class QueuedWitnessing implements Witnessing {
  readonly #parts: WitnessingParts;
  readonly #witnessed: Witnessed;
  /** By witness: those that cannot be reached, for all logs. */
  readonly #away: Pauses;
  /** By tenant: logs that could not be submitted by our own fault. */
  readonly #faults: Pauses;
  readonly #alarms: WitnessAlarms;
  readonly #store: CosignatureStore;
  readonly #queue: WitnessQueue;
  readonly #memories = new Map<TenantId, LogMemory>();
  readonly #stop = new AbortController();

  constructor(parts: WitnessingParts) {
    const { policy, clock, random, telemetry, writer } = parts;
    this.#parts = parts;
    this.#witnessed = createWitnessed(policy);
    this.#away = new Pauses(clock, random);
    this.#faults = new Pauses(clock, random);
    this.#alarms = new WitnessAlarms(clock, telemetry);
    this.#store = new CosignatureStore(writer);
    this.#queue = new WitnessQueue({ clock, turn: (tenant) => this.#turn(tenant) });
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
    this.#faults.take(tenant);
    try {
      const tree = await this.#parts.trees.forTenant(tenant).tree();
      const checkpoint = await tree?.latest();
      const isOpen = checkpoint !== undefined && !this.#witnessed.isWitnessed(checkpoint.note);
      const end = tree !== undefined && isOpen ? await this.#submit(tenant, tree, checkpoint) : 'Done';
      this.#faults.succeeded(tenant);
      return end;
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        this.#parts.telemetry.error('a checkpoint could not be submitted to witnesses', error, { tenant });
      }
      this.#faults.failed(tenant);
      return { againAtMs: this.#faults.nextMs(tenant), wasHeard: false };
    }
  }

  async #submit(tenant: TenantId, tree: LogTree, { size, note }: StoredCheckpoint): Promise<TurnEnd> {
    const { policy, ask } = this.#parts;
    const { sizes, refusals } = this.#memoryOf(tenant);
    const lacking = this.#lackingIn(note);
    const asked = new Set(lacking.filter((witness) => this.#take(witness, refusals)));
    if (asked.size === 0) return { againAtMs: this.#nextMs(lacking, refusals) };
    let fault: unknown;
    const prove = (oldSize: number) =>
      tree.consistency(oldSize, size).catch((error: unknown) => {
        fault = error;
        throw error;
      });
    let answers: WitnessResponses;
    try {
      answers = await ask({ note, prove, policy: only(policy, asked), sizes, signal: this.#stop.signal });
    } catch (error) {
      for (const witness of asked) this.#giveBack(witness, refusals);
      throw error;
    }
    const reports = answers.reports.filter(({ witness }) => asked.has(witness));
    this.#learn(tenant, reports, { refusals, isOurFault: fault !== undefined || this.#stop.signal.aborted });
    if (answers.note !== note) {
      const cosigned = { tenant, epoch: tree.epoch, size, note: answers.note };
      await this.#store.put(cosigned);
      this.#parts.onCosigned?.(cosigned);
    }
    // Our own failure is unrelated to the witnesses.
    if (fault !== undefined) throw fault;
    if (answers.isQuorum) return 'Done';
    const wasHeard = reports.some(({ outcome }) => outcome === 'Cosigned');
    return { againAtMs: this.#nextMs(this.#lackingIn(answers.note), refusals), wasHeard };
  }

  /** The reachable witnesses whose cosignature the note lacks. */
  #lackingIn(note: string): string[] {
    const has = new Set(this.#witnessed.cosignersOf(note));
    return this.#parts.policy.witnesses
      .filter(({ name, url }) => url !== undefined && !has.has(name))
      .map(({ name }) => name);
  }

  /** Whether it may be asked for this log now. */
  #take(witness: string, refusals: Pauses): boolean {
    if (!refusals.take(witness)) return false;
    if (this.#away.take(witness)) return true;
    refusals.notTried(witness);
    return false;
  }

  /** Ends a trial without a result. */
  #giveBack(witness: string, refusals: Pauses): void {
    refusals.notTried(witness);
    this.#away.notTried(witness);
  }

  #nextMs(witnesses: readonly string[], refusals: Pauses): number {
    const times = witnesses.map((witness) => Math.max(this.#away.nextMs(witness), refusals.nextMs(witness)));
    return Math.min(...times, this.#parts.clock.monotonicNs() / 1e6 + WAIT_MS_MAX);
  }

  /** A missing response concerns the witness; an error concerns only this witness and this log. */
  #learn(tenant: TenantId, reports: readonly WitnessResponse[], { refusals, isOurFault }: Learning): void {
    const { telemetry } = this.#parts;
    let isAnyWitnessBack = false;
    for (const report of reports) {
      const { witness, outcome, message } = report;
      if (isOurFault && (outcome === 'Failed' || outcome === 'Unreachable')) {
        this.#giveBack(witness, refusals);
        continue;
      }
      this.#alarms.take(tenant, report);
      if (outcome === 'Unreachable') {
        refusals.notTried(witness);
        if (this.#away.failed(witness))
          telemetry.warn('a witness does not answer', { witness, why: message });
        continue;
      }
      if (outcome === 'Cosigned') refusals.succeeded(witness);
      else refusals.failed(witness);
      if (!this.#away.succeeded(witness)) continue;
      isAnyWitnessBack = true;
      telemetry.info('a witness answers again', { witness });
    }
    if (isAnyWitnessBack) this.#queue.wake();
  }

  #memoryOf(tenant: TenantId): LogMemory {
    const { clock, random } = this.#parts;
    const memory = this.#memories.get(tenant) ?? {
      sizes: new Map<string, number>(),
      refusals: new Pauses(clock, random),
    };
    // The least recently used log comes first.
    this.#memories.delete(tenant);
    this.#memories.set(tenant, memory);
    if (this.#memories.size > LOGS_REMEMBERED_MAX) this.#memories.delete(this.#memories.keys().next().value!);
    return memory;
  }
}

/** The policy with the addresses of these witnesses only: the quorum is the same, and no others are asked. */
function only(policy: WitnessPolicy, names: ReadonlySet<string>): WitnessPolicy {
  const witnesses = policy.witnesses.map((witness) =>
    names.has(witness.name) ? witness : { name: witness.name, verifier: witness.verifier },
  );
  return { ...policy, witnesses };
}
