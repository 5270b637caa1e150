// Options that say which events are exported, and how they are written.

import { type ExportCriteria, ExportFormat } from '@tallystick/contract';
import { EvidenceError, parseJson } from '@tallystick/evidence';
import type { Command } from 'commander';
import { CannotRun } from '../cannot-run.ts';
import { collect, oneOf, wordsOf } from '../given-option.ts';

export interface CriteriaOptions {
  readonly format: string;
  readonly query?: string;
  readonly filters?: string;
  readonly column?: readonly string[];
}

export function addCriteriaOptions(command: Command): Command {
  return command
    .option('--format <format>', `of the events: ${wordsOf(ExportFormat).join(', ')}`, 'JSON')
    .option('--query <query>', 'only events that a search for this finds')
    .option('--filters <json>', 'only events that pass, as in a search: {"actions":["Delete.*"]}')
    .option(
      '--column <path>',
      'of CSV: a column for this value: payload.amount; repeat for several',
      collect,
    );
}

export function criteriaIn({ format, query, filters, column }: CriteriaOptions) {
  const criteria: ExportCriteria = {
    ...(query !== undefined && { query }),
    ...(filters !== undefined && { filters: objectIn(filters, '--filters') }),
  };
  return {
    criteria,
    format: oneOf(wordsOf(ExportFormat), format, 'format') as ExportFormat,
    ...(column && { contentColumns: [...column] }),
  };
}

/** The service says what is wrong with its members. */
export function objectIn(text: string, what: string): object {
  try {
    const read = parseJson(text);
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read;
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    throw new CannotRun(`${what} is not JSON: ${error.message}`);
  }
  throw new CannotRun(`${what} is no JSON object`);
}
