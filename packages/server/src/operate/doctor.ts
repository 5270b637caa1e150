// Examines what the service stands on: clock, disks, fsync, files of keys, anchor, database, certificate and settings. It changes nothing
// but for a file in the data directory that it writes and removes, so it works whether the service runs or not.

import type { Config } from '../config/settings.ts';
import { examineClock } from './doctor/clock.ts';
import { examineDatabase } from './doctor/database.ts';
import { examineDisks } from './doctor/disks.ts';
import type { Examined, Problem } from './doctor/examined.ts';
import { examineFiles } from './doctor/files.ts';
import { examineSettings, type Variables } from './doctor/examine-settings.ts';
import { examineSync } from './doctor/sync.ts';
import { examineCertificate } from './doctor/certificate.ts';
import { requireData } from './open-data.ts';

export interface Diagnosis {
  readonly examined: readonly (Examined & { readonly part: string })[];
  readonly isSound: boolean;
}

/** Throws ConfigError where there is no data to look at, and StartError. `variables` are those of the service's environment. */
export async function examine(config: Config, variables: Variables): Promise<Diagnosis> {
  requireData(config);
  const parts: Record<string, () => Promise<Examined> | Examined> = {
    clock: () => examineClock(config),
    disk: () => examineDisks(config),
    fsync: () => examineSync(config),
    files: () => examineFiles(config),
    database: () => examineDatabase(config),
    certificate: () => examineCertificate(config),
    settings: () => examineSettings(config, variables),
  };
  const examined = [];
  for (const [part, look] of Object.entries(parts)) examined.push({ part, ...(await lookInto(part, look)) });
  return { examined, isSound: examined.every(({ problems }) => problems.length === 0) };
}

/** What cannot be examined is a finding, too. */
async function lookInto(part: string, look: () => Promise<Examined> | Examined): Promise<Examined> {
  try {
    return await look();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const problem: Problem = {
      what: `the examination of ${part} has failed: ${why}`,
      remedy: 'mend that, and run the command again',
    };
    return { problems: [problem] };
  }
}
