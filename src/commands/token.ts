import { flatPolicies } from '../../control/http/auth/policies.js'
import { createToken } from '../../control/tokens/token-repository.js'
import { loadConfig } from '../config/load.js'
import type { Config } from '../config/schema.js'
import { InvalidInput, messageOf } from '../core/errors.js'
import { silentLog } from '../core/log.js'
import type { FlatAccess } from '../core/permissions.js'
import { openStore } from '../store/index.js'
import { Exit, type DefineCommand } from './command.js'

interface Options extends FlatAccess {
  readonly name: string
  readonly config: string
  readonly expiresOn?: string
  readonly json?: boolean
}

const several = (value: string, before: readonly string[] = []): string[] => [...before, value]

/** `edged token create`: creates an API token and prints it once. */
export const token: DefineCommand = (command) => {
  command
    .command('create')
    .description('create an API token and print it; it is shown only once')
    .requiredOption('-c, --config <file>', 'the configuration file of the daemon')
    .requiredOption('--name <name>', 'what to call it')
    .requiredOption(
      '--permission <name>',
      'a permission, as in "Zone Settings Write", or "*"; may be given again',
      several,
    )
    .option('--account <id>', 'an account it is good for; may be given again (default: all)', several)
    .option('--zone <id>', 'a zone it is good for; may be given again (default: all)', several)
    .option('--expires-on <time>', 'valid until then, as in 2027-01-01T00:00:00Z')
    .option('--json', 'print an object with id, name and token')
    .addHelpText(
      'after',
      '\nWhile a daemon has the store open, its API is asked, with a token of the configuration that may do all.' +
        '\nExit codes: 0 made, 2 the configuration cannot be used, 1 anything else.',
    )
    .action(async (given: Record<string, unknown>) => {
      const options = {
        ...given,
        permissions: given['permission'],
        accounts: given['account'] ?? ['*'],
        zones: given['zone'] ?? ['*'],
      } as unknown as Options
      const made = await create(loadConfig(options.config), options)
      process.stdout.write(options.json ? `${JSON.stringify({ ...made, name: options.name })}\n` : `${made.token}\n`)
    })
}

/** In the store, or, where a daemon has it open, through the API of that daemon. */
async function create(config: Config, options: Options): Promise<{ id: string; token: string }> {
  const { name, permissions, accounts, zones, expiresOn } = options
  if (config.store === 'memory')
    throw new Exit(
      1,
      'a store in memory ends with its daemon: ask its API, POST /user/tokens, or name the token in tokens',
    )
  let store
  try {
    store = await openStore(config.store, { folder: config.data, log: silentLog })
  } catch (error) {
    const locked = ((error as Error).cause as { code?: string } | undefined)?.code === 'LEVEL_LOCKED'
    if (locked) return await createThroughApi(config, options)
    throw error
  }
  try {
    const expiry = expiresOn === undefined ? {} : { expires_on: expiresOn }
    const made = await createToken(store, { name, permissions, accounts, zones, ...expiry })
    return { id: made.token.id, token: made.value }
  } catch (error) {
    if (error instanceof InvalidInput) throw new Exit(1, `the token was not made: ${error.message}`)
    throw error
  } finally {
    await store.close()
  }
}

async function createThroughApi(config: Config, options: Options): Promise<{ id: string; token: string }> {
  const admin = config.tokens.find(({ permissions }) => permissions.includes('*'))
  if (!admin)
    throw new Exit(
      1,
      'a daemon has the store open, and the configuration has no token with all permissions to ask it with',
    )
  const policies = flatPolicies(options).map(({ effect, permissions, resources }) => ({
    effect,
    permission_groups: permissions.map((name) => ({ name })),
    resources,
  }))
  const url = `http://${config.control.listen}/client/v4/user/tokens`
  const body = {
    name: options.name,
    policies,
    ...(options.expiresOn !== undefined && { expires_on: options.expiresOn }),
  }
  const headers = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' }
  let result: {
    success: boolean
    result: { id: string; value: string }
    errors: { message: string; source?: { pointer?: string } }[]
  }
  try {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    result = (await response.json()) as typeof result
  } catch (error) {
    throw new Exit(1, `a process has the store open, and ${url} does not answer: ${messageOf(error)}`)
  }
  if (!result.success)
    throw new Exit(
      1,
      `the token was not made: ${result.errors.map(({ message, source }) => `${source?.pointer ?? ''} ${message}`.trim()).join('; ')}`,
    )
  return { id: result.result.id, token: result.result.value }
}
