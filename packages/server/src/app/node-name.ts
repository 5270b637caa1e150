// The name of this node among those that serve from one database.

import { hostname } from 'node:os';
import type { Config } from '../config/settings.ts';

const NAME_LENGTH_MAX = 64;

export function nodeName({ node }: Pick<Config, 'node'>, host = hostname()): string {
  return node.name ?? fitting(host);
}

/** As Node__Name could be. */
function fitting(host: string): string {
  const name = host.replace(/[^A-Za-z0-9._-]/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  return name.slice(0, NAME_LENGTH_MAX) || 'node';
}
