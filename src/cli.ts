#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { Exit, type DefineCommand } from './commands/common/command.js'
import { messageOf } from './core/errors.js'
import { holdHeap } from './core/memory/heap-size.js'
import { VERSION } from './release/package.js'

/** Every command, in the order of `edged --help`. Its code is loaded only if it is called: all code takes a second. */
const COMMANDS: readonly (readonly [name: string, summary: string, load: () => Promise<DefineCommand>])[] = [
  ['serve', 'run the daemon: proxy, API and admin listener', async () => (await import('./commands/serve.js')).serve],
  ['init', 'write a configuration file to begin with', async () => (await import('./commands/init.js')).init],
  [
    'import',
    'make a configuration from that of Caddy, nginx or the hosted service',
    async () => (await import('./commands/import.js')).importConfig,
  ],
  ['status', 'show what the running daemon serves', async () => (await import('./commands/status.js')).status],
  ['top', 'show traffic and state of the running daemon', async () => (await import('./commands/top.js')).top],
  ['reload', 'apply the changed configuration file', async () => (await import('./commands/reload.js')).reload],
  [
    'backup',
    'copy store, blobs and key of the running daemon to a file',
    async () => (await import('./commands/backup.js')).backup,
  ],
  [
    'restore',
    'restore a backup into an empty data folder',
    async () => (await import('./commands/restore.js')).restore,
  ],
  ['doctor', 'check the machine for what the daemon needs', async () => (await import('./commands/doctor.js')).doctor],
  ['check', 'validate a configuration or pipeline file', async () => (await import('./commands/check.js')).check],
  ['convert', 'convert HTML to Markdown', async () => (await import('./commands/convert.js')).convert],
  ['run', 'run the pipelines of a file until their input ends', async () => (await import('./commands/run.js')).run],
  ['tail', 'show records as they pass', async () => (await import('./commands/tail.js')).tail],
  [
    'replay',
    'send a dead letter file to a destination again',
    async () => (await import('./commands/replay.js')).replay,
  ],
  [
    'hash-password',
    'hash a password for basic authentication',
    async () => (await import('./commands/hash-password.js')).hashPassword,
  ],
  ['test', 'run the tests of a pipeline file', async () => (await import('./commands/test.js')).test],
  [
    'expr',
    'check and evaluate expressions of the rules language',
    async () => (await import('./commands/expr.js')).expr,
  ],
  ['token', 'manage API tokens', async () => (await import('./commands/token.js')).token],
  ['secrets', 'manage stored secrets', async () => (await import('./commands/secrets.js')).secrets],
  ['schema', 'print the schemas that edged validates with', async () => (await import('./commands/schema.js')).schema],
]

holdHeap()
const program = new Command('edged')
  .description('A self-hosted edge platform: Markdown for agents, rulesets, log push, Workers, webhooks')
  .version(VERSION)
  .configureOutput({ outputError: () => undefined })
  .exitOverride()
for (const [name, summary, load] of COMMANDS) {
  const command = program.command(name).description(summary)
  // `edged help NAME` prints the options of that command as well.
  if (process.argv.slice(2, 4).includes(name)) (await load())(command)
}

// The reader has closed the pipe, for example `edged convert page.html | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = await exitCode(error)
}

/** Prints the error, in one line if the command line is wrong, and returns the exit code. */
async function exitCode(error: unknown): Promise<number> {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0
    if (error.code !== 'commander.help') process.stderr.write(`edged: ${usageError(error.message)}\n`)
    return 1
  }
  const { BadConfig } = await import('./config/yaml.js')
  process.stderr.write(`${error instanceof BadConfig ? '' : 'edged: '}${messageOf(error)}\n`)
  if (error instanceof BadConfig) return 2
  return error instanceof Exit ? error.code : 1
}

/** Returns the message of commander without its prefix and line breaks, and where to read on. */
function usageError(message: string): string {
  const [name = ''] = process.argv.slice(2)
  const help = COMMANDS.some(([known]) => known === name) ? `edged ${name} --help` : 'edged --help'
  return `${message
    .replace(/^error: /, '')
    .replaceAll(/\s*\n\s*/g, ' ')
    .replace(/\.$/, '')}; see ${help}`
}
