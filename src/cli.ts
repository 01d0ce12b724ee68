#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { Exit, type AddCommand } from './commands/command.js'
import { BadConfig } from './config/yaml.js'
import { messageOf } from './core/errors.js'
import { holdHeap } from './core/heap-size.js'
import { VERSION } from './package.js'

/** Every command, in the order of `edged --help`. Each is loaded when it is asked for: all of them take a second. */
const COMMANDS: readonly (readonly [name: string, load: () => Promise<AddCommand>])[] = [
  ['serve', async () => (await import('./commands/serve.js')).serve],
  ['check', async () => (await import('./commands/check.js')).check],
  ['convert', async () => (await import('./commands/convert.js')).convert],
  ['run', async () => (await import('./commands/run.js')).run],
  ['test', async () => (await import('./commands/test.js')).test],
  ['expr', async () => (await import('./commands/expr.js')).expr],
  ['token', async () => (await import('./commands/token.js')).token],
  ['secrets', async () => (await import('./commands/secrets.js')).secrets],
  ['schema', async () => (await import('./commands/schema.js')).schema],
]

holdHeap()
const program = new Command('edged')
  .description('A self-hosted edge platform: Markdown for agents, rulesets, log push, Workers, webhooks')
  .version(VERSION)
  .showHelpAfterError('(edged --help tells more)')
  .exitOverride()
const asked = COMMANDS.filter(([name]) => name === process.argv[2])
for (const [, load] of asked.length > 0 ? asked : COMMANDS) (await load())(program)

// Whoever reads has enough, as in `edged convert page.html | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCode(error)
}

/** Prints what went wrong, unless commander has, and gives the exit code. */
function exitCode(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1
  process.stderr.write(`${error instanceof BadConfig ? '' : 'edged: '}${messageOf(error)}\n`)
  if (error instanceof BadConfig) return 2
  return error instanceof Exit ? error.code : 1
}
