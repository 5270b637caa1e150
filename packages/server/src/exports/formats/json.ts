// JSON: the events as the API shows them, as one array, or each on a line of its own.

import { writeJson } from '../../written-json.ts';
import type { Format } from './format.ts';

export const JSON_ARRAY: Format = {
  extension: 'json',
  mediaType: 'application/json',
  begin: '[\n',
  between: ',\n',
  end: '\n]\n',
  write: writeJson,
  writeText: (json) => json,
};

export const JSON_LINES: Format = {
  extension: 'ndjson',
  mediaType: 'application/x-ndjson',
  begin: '',
  between: '',
  end: '',
  write: (event) => line(writeJson(event)),
  writeText: line,
};

function line(json: string): string {
  return `${json}\n`;
}
