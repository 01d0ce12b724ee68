import { readFileSync } from 'node:fs'
import { fileFault, messageOf } from '../core/errors.js'
import { loadPluginsOf } from '../plugins/load.js'
import { Exit, type DefineCommand } from './common/command.js'
import type { Outcome } from './expressions.js'

const CONFIG = '-c, --config <file>'
const CONFIG_HELP = 'configuration whose plug-ins add fields and functions'

/** `edged expr check EXPRESSION` and `edged expr eval EXPRESSION --request FILE`. */
export const expr: DefineCommand = (command) => {
  command
    .command('check')
    .description('parse a filter expression; shows the place of an error')
    .argument('<expression>', 'the expression')
    .option('--phase <phase>', 'also check that this phase has the fields and functions')
    .option('--json', 'print the outcome as JSON')
    .option(CONFIG, CONFIG_HELP)
    .addHelpText('after', '\nExit codes: 0 valid, 2 not valid.')
    .action(async (text: string, options: { phase?: string; json?: boolean; config?: string }) => {
      const { checkExpression } = await expressions(options)
      end(checkExpression(text, options), options)
    })
  command
    .command('eval')
    .description('evaluate an expression on a request')
    .argument('<expression>', 'a filter or a value expression')
    .requiredOption('--request <file>', 'JSON with method, url, version, headers, ip, body, and fields by their names')
    .option(CONFIG, CONFIG_HELP)
    .addHelpText('after', '\nPrints true, false or a value as JSON. Exit codes: 0 evaluated, 2 not valid.')
    .action(async (text: string, { request, ...options }: { request: string; config?: string }) => {
      const { evaluateExpression } = await expressions(options)
      end(evaluateExpression(text, readJson(request)))
    })
}

/** Returns the code of the commands, with the fields and functions of plug-ins. */
async function expressions({ config }: { config?: string }) {
  if (config !== undefined) await loadPluginsOf(config)
  return await import('./expressions.js')
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as unknown
  } catch (error) {
    if (error instanceof SyntaxError) throw new Exit(2, `${file} is not JSON: ${messageOf(error)}`)
    throw new Exit(2, `${file}: ${fileFault(error)}`)
  }
}

function end({ output, exitCode }: Outcome, { json }: { json?: boolean } = {}): void {
  if (exitCode === 0 || json === true) process.stdout.write(output)
  else process.stderr.write(output)
  process.exitCode = exitCode
}
