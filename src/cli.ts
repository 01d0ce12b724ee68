#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { check } from './commands/check.js'
import { Exit, type AddCommand } from './commands/command.js'
import { convert } from './commands/convert.js'
import { expr } from './commands/expr.js'
import { run } from './commands/run.js'
import { schema } from './commands/schema.js'
import { secrets } from './commands/secrets.js'
import { serve } from './commands/serve.js'
import { test } from './commands/test.js'
import { token } from './commands/token.js'
import { BadConfig } from './config/load.js'
import { messageOf } from './core/errors.js'
import { VERSION } from './package.js'

/** Every command, in the order of `edged --help`. */
const COMMANDS: readonly AddCommand[] = [serve, check, convert, run, test, expr, token, secrets, schema]

const program = new Command('edged')
  .description('A self-hosted edge platform: Markdown for agents, rulesets, log push, Workers, webhooks')
  .version(VERSION)
  .showHelpAfterError('(edged --help tells more)')
  .exitOverride()
for (const add of COMMANDS) add(program)

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
