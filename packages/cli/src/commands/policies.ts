// tallystick policies: keeps the policies of a running service in files. Exit codes: 0 done; 1 failed, or a policy is not
// valid; 2 the command line or a file is wrong. `diff` has those of diff: 1 if something differs, 2 if it failed.

import {
  type Policy,
  PolicyStatus,
  type PolicyTemplate,
  PolicyType,
  ULID_PATTERN,
} from '@tallystick/contract';
import { Command } from 'commander';
import { CannotRun, EXIT } from '../cannot-run.ts';
import { failedAsking } from '../failed-asking.ts';
import { NoAnswer } from '../fetch-bytes.ts';
import { collect, wordsIn, wordsOf } from '../given-option.ts';
import { type LineOutput, lineOutput } from '../output/line-output.ts';
import { jsonLines, type JsonOption, writeRows } from '../output/rows.ts';
import type { ApplyOptions } from '../policies/apply-policies.ts';
import { policyForm } from '../policies/policy-form.ts';
import { POLICY_COLUMNS, TEMPLATE_COLUMNS } from '../policies/policy-tables.ts';
import { type ServedPolicies, servedPolicies } from '../policies/served-policies.ts';
import { addServiceOptions, serviceIn, type ServiceOptions } from '../address-options.ts';
import { timeRangeIn, type TimeRangeOptions } from '../time-range-options.ts';

interface ListOptions extends ServiceOptions, JsonOption {
  readonly type?: string;
  readonly status?: string;
}

interface GetOptions extends ServiceOptions, JsonOption {
  readonly version?: string;
}

interface FileOptions extends ServiceOptions {
  readonly file: readonly string[];
}

export function policiesCommand(): Command {
  return new Command('policies')
    .summary('keep the policies of a running service in files')
    .description(
      'Reads, validates, compares and changes policies of a tenant. A file is YAML with a policy in each document, or JSON ' +
        'with a policy or a list of them; a directory means all .yaml, .yml and .json files in it. The name identifies a ' +
        'policy.\n' +
        'Exit code 0: done. 1: failed, or a policy is not valid. 2: the command line or a file is wrong.',
    )
    .addCommand(listCommand())
    .addCommand(getCommand())
    .addCommand(applyCommand())
    .addCommand(validateCommand())
    .addCommand(diffCommand())
    .addCommand(templatesCommand());
}

function listCommand(): Command {
  const command = new Command('list')
    .summary('list policies')
    .description('Lists the policies of a tenant; deleted ones only with --status Deleted.');
  return addServiceOptions(command, 'whose policies')
    .option('--type <types>', `only these: ${wordsOf(PolicyType).join(', ')}; several with commas`)
    .option('--status <statuses>', `only these: ${wordsOf(PolicyStatus).join(', ')}; several with commas`)
    .option('--json', 'print a JSON list')
    .action((options: ListOptions) =>
      run(options, async (service, out) => {
        const policyType = wordsIn(options.type, PolicyType, 'type of policies');
        const status = wordsIn(options.status, PolicyStatus, 'status of policies');
        await writeRows(await service.list({ policyType, status }), POLICY_COLUMNS, options, out);
        return EXIT.done;
      }),
    );
}

function getCommand(): Command {
  const command = new Command('get')
    .summary('print a policy')
    .description(
      'Prints a policy as YAML, to be kept in a file: without what the service adds, such as ids and versions.',
    )
    .argument('<policy>', 'its name, or its policyId');
  return addServiceOptions(command, 'whose policy')
    .option(
      '--version <n>',
      'as it was in this version (default: the newest); of a deleted policy only by its policyId',
    )
    .option('--json', "print the service's answer, as JSON")
    .action((wanted: string, options: GetOptions) =>
      run(options, async (service, out) => {
        const version = options.version === undefined ? undefined : versionIn(options.version);
        const policyId = await policyIdOf(wanted, service);
        const policy = await (version === undefined
          ? service.get(policyId)
          : service.getVersion(policyId, version));
        await out.write(options.json ? jsonLines(policy) : await yamlOf(policy, [commentOn(policy)]));
        return EXIT.done;
      }),
    );
}

function applyCommand(): Command {
  const command = new Command('apply')
    .summary('create and change policies from files')
    .description(
      'Creates the policies of the files that do not exist yet, and changes those that differ; others are left alone. All ' +
        'are validated before the first is changed. A policy that someone else changes meanwhile is not overwritten.',
    );
  return addServiceOptions(addFileOption(command), 'whose policies')
    .option('--dry-run', 'only say what would be done')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .action((options: FileOptions & ApplyOptions) =>
      run(options, async (service, out) => {
        const { applyPolicies } = await import('../policies/apply-policies.ts');
        return applyPolicies(options.file, options, service, out);
      }),
    );
}

function validateCommand(): Command {
  const command = new Command('validate')
    .summary('validate policies in files, and measure what they would match')
    .description(
      'Says whether the service would accept the policies of the files, warns of rules that have no effect, and counts how ' +
        'many of the newest events they would match. Changes nothing.',
    );
  return addServiceOptions(addFileOption(command), 'whose policies')
    .option('--from <time>', 'try them on events from this day or instant on')
    .option('--to <time>', 'try them on events up to this day or instant')
    .action((options: FileOptions & TimeRangeOptions) =>
      run(options, async (service, out) => {
        const timeRange = timeRangeIn(options);
        const { validatePolicies } = await import('../policies/validate-policies.ts');
        return validatePolicies(options.file, timeRange, service, out);
      }),
    );
}

function diffCommand(): Command {
  const command = new Command('diff')
    .summary('show what apply would change')
    .description(
      'Shows what apply would change, line by line: - is what the service has, + is what the file has.\n' +
        'Exit code 0: nothing differs. 1: something does. 2: the comparison failed.',
    );
  return addServiceOptions(addFileOption(command), 'whose policies').action(async (options: FileOptions) => {
    await run(
      options,
      async (service, out) => {
        const { diffPolicies } = await import('../policies/diff-policies.ts');
        return diffPolicies(options.file, service, out);
      },
      () => EXIT.wrongUsage,
    );
  });
}

function templatesCommand(): Command {
  const command = new Command('templates')
    .summary('list policies to begin with, or print one')
    .description(
      'Lists policies to begin with, by the standard that they serve; with an id, prints that one as YAML.',
    )
    .argument('[templateId]', 'which one to print');
  return addServiceOptions(command, 'who asks')
    .option('--json', "print the service's answer, as JSON")
    .action((wanted: string | undefined, options: ServiceOptions & JsonOption) =>
      run(options, async (service, out) => {
        const templates = await service.templates();
        if (wanted === undefined) await writeRows(templates, TEMPLATE_COLUMNS, options, out);
        else await writeTemplate(templateIn(wanted, templates), options, out);
        return EXIT.done;
      }),
    );
}

type Work = (service: ServedPolicies, out: LineOutput) => Promise<number>;

/** `exitCodeOf` maps the usual exit code of a failure. */
async function run(
  options: ServiceOptions,
  work: Work,
  exitCodeOf = (usual: number) => usual,
): Promise<void> {
  try {
    process.exitCode = await work(servedPolicies(serviceIn(options)), lineOutput());
  } catch (error) {
    process.exitCode = exitCodeOf(failedAsking(error));
  }
}

function addFileOption(command: Command): Command {
  return command.requiredOption(
    '-f, --file <file>',
    'a file, or a directory of them; may be repeated',
    collect,
  );
}

function versionIn(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new CannotRun(`--version is ${JSON.stringify(text.slice(0, 80))}; it is a whole number of 1 or more`);
}

const POLICY_ID = new RegExp(ULID_PATTERN);

/** An id is not looked for in the list, which has no deleted policies: their versions can still be read. */
async function policyIdOf(wanted: string, service: ServedPolicies): Promise<string> {
  const id = wanted.toUpperCase();
  if (POLICY_ID.test(id)) return id;
  const found = (await service.list()).find(({ name }) => name === wanted);
  if (found !== undefined) return found.policyId;
  throw new NoAnswer(
    `there is no policy ${JSON.stringify(wanted.slice(0, 200))}; tallystick policies list shows them`,
  );
}

function templateIn(wanted: string, templates: readonly PolicyTemplate[]): PolicyTemplate {
  const found = templates.find(({ templateId }) => templateId === wanted);
  if (found !== undefined) return found;
  const known = templates.map(({ templateId }) => templateId).join(', ');
  throw new NoAnswer(`there is no template ${JSON.stringify(wanted.slice(0, 200))}; there are ${known}`);
}

async function writeTemplate(template: PolicyTemplate, { json }: JsonOption, out: LineOutput): Promise<void> {
  const { name, description, policy } = template;
  const comment = description === undefined ? [name] : [name, description];
  await out.write(json ? jsonLines(template) : await yamlOf(policy, comment));
}

function commentOn({ version, updatedBy, updatedAt }: Policy): string {
  return `Version ${version}, by ${updatedBy} at ${updatedAt}`;
}

/** YAML is loaded only where it is needed, so that other commands start faster. */
async function yamlOf(
  policy: Parameters<typeof policyForm>[0],
  comment: readonly string[],
): Promise<string[]> {
  const { policyYaml } = await import('../policies/write-yaml.ts');
  return policyYaml(policyForm(policy), comment);
}
