// The reference page of all settings (docs/reference/configuration.md), made from their description.

import { isSectionList, isSetting, type Node, type Section, type Setting } from './setting.ts';
import { SETTINGS } from './settings.ts';

const INTRODUCTION = `# Configuration

<!-- Made from packages/server/src/config/settings.ts; UPDATE_REFERENCE=1 with the tests writes it anew. -->

Settings are read once, at the start: first from the file \`tallystick.json\` in the working directory (or the one
named by \`--config\`), then from the environment, which wins. In the environment the section path is joined by \`__\`;
in the file it is nesting:

    Server__Port=9000 Server__TrustedProxies__0=10.0.0.0/8

    { "Server": { "Port": 9000, "TrustedProxies": ["10.0.0.0/8"] } }

- Names are written exactly as below, upper and lower case included.
- The items of a list carry their index, from 0 without gaps; a list of plain values may also be one text with commas.
  An item in the environment replaces the file's item of that index.
- A length of time is an ISO 8601 duration of days, hours, minutes and seconds (\`P1D\`, \`PT30S\`) or a time span
  \`[d.]hh:mm:ss[.fffffff]\` (\`1.00:00:00\`, \`00:00:30\`).
- Relative paths start at the working directory.
- A wrong, missing or unknown setting stops the start: one line each on standard error, exit code 2. So does a variable
  that nearly names a setting (\`Storge__DataDirectory\`, \`Server_Port\`, \`SERVER__PORT\`); variables of other programs,
  such as \`SERVER_PORT\`, are left alone.
- \`tallystick config\` prints what holds and where it comes from, with secrets masked.
`;

export function renderReference(): string {
  const plain = Object.entries(SETTINGS).filter(([, node]) => isSetting(node));
  const sections = Object.entries(SETTINGS).filter(([, node]) => !isSetting(node));
  const parts = [INTRODUCTION, table('General', Object.fromEntries(plain), '')];
  for (const [name, node] of sections) parts.push(table(name, node as Section, name));
  return parts.join('\n');
}

function table(title: string, section: Section, name: string): string {
  const rows = Object.entries(section).flatMap(([key, node]) =>
    rowsOf(node, name === '' ? key : `${name}__${key}`),
  );
  return [
    `## ${title}`,
    '',
    '| setting | allowed | default | meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function rowsOf(node: Node, name: string): string[] {
  if (isSetting(node)) return [row(node.name ?? name, node)];
  if (isSectionList(node)) {
    const heading = `| \`${name}\` | a list of sections | none | ${cell(node.meaning)} |`;
    return [
      heading,
      ...Object.entries(node.each).flatMap(([key, part]) => rowsOf(part, `${name}__0__${key}`)),
    ];
  }
  return Object.entries(node).flatMap(([key, part]) => rowsOf(part, `${name}__${key}`));
}

function row(name: string, setting: Setting<unknown>): string {
  const allowed = setting.kind.secret ? `${setting.kind.allowed} (secret)` : setting.kind.allowed;
  return `| \`${name}\` | ${cell(allowed)} | ${cell(defaultOf(setting))} | ${cell(setting.meaning)} |`;
}

function defaultOf(setting: Setting<unknown>): string {
  if (setting.required) return 'required';
  if (setting.otherwise !== undefined) return setting.otherwise;
  const shown = setting.kind.show(setting.default as {});
  return `\`${Array.isArray(shown) ? shown.join(', ') : String(shown)}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
