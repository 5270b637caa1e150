// npm run sbom: writes dist/sbom.cdx.json, the bill of materials of the published packages in CycloneDX.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bill, type Component, publishedBill } from './bill-of-materials.ts';

const ROOT = join(import.meta.dirname, '..');
const FILE = 'dist/sbom.cdx.json';

interface Manifest {
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

function run(command: string, ...words: readonly string[]): string {
  return execFileSync(command, words, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
  });
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as Manifest;
}

/** The page at /docs is a copy of its files, for which nobody installs the package. */
function swaggerUi(): Component {
  const name = 'swagger-ui-dist';
  const bundle = readFileSync(
    join(ROOT, 'node_modules/@fastify/swagger-ui/static/swagger-ui-bundle.js'),
    'utf8',
  );
  const [, version] = /PACKAGE_VERSION:"(\d+\.\d+\.\d+)"/.exec(bundle) ?? [];
  if (version === undefined) throw new Error('the files of Swagger UI do not say which version they are');
  const purl = `pkg:npm/${name}@${version}`;
  const licenses = [{ license: { id: 'Apache-2.0' } }];
  return {
    'bom-ref': `${name}@${version}`,
    type: 'library',
    name,
    version,
    scope: 'required',
    purl,
    licenses,
  };
}

/** The page of GraphQL likewise. What GraphiQL is built of is in its file, in versions that it does not tell. */
function graphiql(): Component[] {
  const names = ['graphiql', 'react', 'react-dom'];
  return names.map((name) => {
    const component = whole.components.find((each) => each.purl?.startsWith(`pkg:npm/${name}@`) === true);
    if (component === undefined) throw new Error(`there is no ${name} in the lockfile`);
    // They say that it is a tool of ours.
    const { properties: _, ...known } = component;
    return { ...known, scope: 'required' };
  });
}

/** As others tell it who make the same bytes again (reproducible-builds.org), or as git does; outside of a working copy the lockfile. */
function changedAt(): Date {
  const { SOURCE_DATE_EPOCH: given } = process.env;
  if (given !== undefined) return new Date(Number(given) * 1000);
  const { status, stdout } = spawnSync('git', ['log', '-1', '--format=%cI'], { cwd: ROOT, encoding: 'utf8' });
  return status === 0 ? new Date(stdout.trim()) : statSync(join(ROOT, 'package-lock.json')).mtime;
}

const whole = JSON.parse(
  run(
    'npm',
    'sbom',
    '--silent',
    '--sbom-format',
    'cyclonedx',
    '--sbom-type',
    'application',
    '--package-lock-only',
  ),
) as Bill;
/** Their manifests say it in an old form, which the lockfile leaves out. */
const OLD_FORM = { ssh2: 'MIT', buildcheck: 'MIT', 'cpu-features': 'MIT' };
const bill = publishedBill(whole, {
  root: '@tallystick/cli',
  peers: new Set(Object.keys(manifestOf('packages/server').peerDependencies ?? {})),
  copied: { '@tallystick/server': [swaggerUi(), ...graphiql()] },
  licenses: OLD_FORM,
  at: changedAt(),
});
mkdirSync(join(ROOT, 'dist'), { recursive: true });
writeFileSync(join(ROOT, FILE), `${JSON.stringify(bill, undefined, 2)}\n`);
process.stdout.write(`${FILE}: ${bill.components.length + 1} components\n`);
