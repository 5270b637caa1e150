// The policy of witnesses that the settings name, read once; throws ConfigError when it cannot be used, with its line
// where it has one. A policy that no answer could ever meet is found out here, and not after months without a quorum.

import { readFileSync } from 'node:fs';
import { EvidenceError, isQuorum, parsePolicy, type WitnessPolicy } from '@tallystick/evidence';
import { ConfigError } from './config-error.ts';
import { isLoopbackUrl } from './loopback-url.ts';
import type { Config } from './settings.ts';

const NAME = 'Log__WitnessPolicy';

/** Undefined: the settings name none. */
export async function readWitnessPolicy({ log }: Pick<Config, 'log'>): Promise<WitnessPolicy | undefined> {
  const file = log.witnessPolicy;
  if (file === undefined) return undefined;
  const policy = await parsed(file, textIn(file));
  const problems = faultsOf(policy);
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${NAME}: ${file}: ${problem}`));
  return policy;
}

function textIn(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new ConfigError([`${NAME}: cannot read ${file} (${code})`]);
  }
}

async function parsed(file: string, text: string): Promise<WitnessPolicy> {
  try {
    return await parsePolicy(text);
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    throw new ConfigError([`${NAME}: ${file}: ${error.message}`]);
  }
}

function faultsOf(policy: WitnessPolicy): string[] {
  const { witnesses, quorum } = policy;
  const faults = witnesses.flatMap(({ name, url }) => {
    const fault = url === undefined ? undefined : faultOfAddress(url);
    return fault === undefined ? [] : [`witness ${name}: ${url} ${fault}`];
  });
  const reachable = witnesses.filter(({ url }) => url !== undefined).map(({ name }) => name);
  if (reachable.length === 0) faults.push('no witness has an address');
  else if (!isQuorum(policy, reachable)) {
    faults.push(`the witnesses that have an address are not enough for the quorum ${quorum}`);
  }
  return faults;
}

function faultOfAddress(url: string): string | undefined {
  const protocol = URL.parse(url)?.protocol;
  if (protocol === 'https:') return undefined;
  if (protocol !== 'http:') return 'is no address with http: or https:';
  return isLoopbackUrl(url) ? undefined : 'is plain http; a witness on another machine needs https';
}
