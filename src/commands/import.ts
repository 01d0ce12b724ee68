import { writeFileSync } from 'node:fs'
import { readConfig } from '../config/load.js'
import { messageOf } from '../core/errors.js'
import { Exit, type DefineCommand } from './common/command.js'
import type { ImportedConfig } from './import/site/model.js'
import { printed } from './import/site/print.js'
import { Report } from './import/site/report.js'
import { SyntaxFault } from './import/site/syntax-fault.js'
import { Files } from './import/site/text-file.js'

/** Exit code if a part of the original is not carried over. */
const LEFT_OUT = 6

interface Output {
  readonly output?: string
}

/** `edged import caddy|nginx|hosted` makes a configuration from the files of another server. */
export const importConfig: DefineCommand = (command) => {
  const exits =
    '\nWhat is not carried over is printed to standard error, one line per part with the reason.' +
    '\nExit codes: 0 everything is carried over; 6 something was left out; 2 the input cannot be read, or FILE exists.'
  for (const [name, summary] of [
    ['caddy', 'from a Caddyfile'],
    ['nginx', 'from a configuration of nginx, or one of its sites'],
  ] as const)
    command
      .command(name)
      .description(summary)
      .argument('<file>', 'the file')
      .option('-o, --output <file>', 'write to this file, which must not exist (default: standard output)')
      .addHelpText('after', exits)
      .action(async (file: string, { output }: Output) => {
        const report = new Report()
        const files = new Files()
        const text = readText(file, files)
        const config = await fromFile(name, { text, file, files, report })
        write(config, report, output)
      })
  command
    .command('hosted')
    .description('from a zone of the hosted service, or of another server with its API')
    .requiredOption('--zone <name>', 'domain name of the zone')
    .requiredOption(
      '--token <token>',
      'API token that can read the zone, its DNS records and rulesets, and the lists of its account',
    )
    .option('--api-url <url>', 'base URL of the API', 'https://api.cloudflare.com/client/v4')
    .option('-o, --output <file>', 'write to this file, which must not exist (default: standard output)')
    .addHelpText('after', exits)
    .action(async ({ output, ...given }: Output & { zone: string; token: string; apiUrl: string }) => {
      const report = new Report()
      const { importHosted } = await import('./import/hosted/index.js')
      write(await importHosted(given, report), report, output)
    })
}

interface Input {
  readonly text: string
  readonly file: string
  readonly files: Files
  readonly report: Report
}

async function fromFile(name: 'caddy' | 'nginx', { text, file, files, report }: Input): Promise<ImportedConfig> {
  try {
    if (name === 'nginx') return (await import('./import/nginx/index.js')).importNginx(text, file, files, report)
    return (await import('./import/caddy/index.js')).importCaddy(text, file, files, report)
  } catch (error) {
    if (error instanceof SyntaxFault)
      throw new Exit(2, `${error.place.file}:${error.place.line}:${error.column}: ${error.message}`)
    throw error
  }
}

function readText(file: string, files: Files): string {
  try {
    return files.read(file)
  } catch (error) {
    throw new Exit(2, `cannot read ${file}: ${messageOf(error)}`)
  }
}

/** Prints or writes a configuration, and names the lines that it leaves out. */
function write(config: ImportedConfig, report: Report, output: string | undefined): void {
  if (config.zones.length === 0) throw new Exit(2, 'there is no site to import; nothing was written')
  const text = printed(config)
  readConfig(text, output ?? 'imported configuration')
  if (output === undefined) process.stdout.write(text)
  else writeNew(output, text)
  const { lines } = report
  for (const line of lines) process.stderr.write(`${line}\n`)
  if (lines.length > 0) process.exitCode = LEFT_OUT
}

function writeNew(file: string, text: string): void {
  try {
    // Never replaces a file: "x" fails if there is one.
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST'
    throw new Exit(
      2,
      exists ? `${file} exists already; name another file` : `cannot write ${file}: ${messageOf(error)}`,
    )
  }
}
