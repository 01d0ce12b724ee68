import { flatPolicies } from '../../control/http/auth/policies.js'
import { createToken } from '../../control/tokens/token-repository.js'
import { loadConfig } from '../config/load.js'
import type { Config } from '../config/schema.js'
import { InvalidInput } from '../core/errors.js'
import { silentLog } from '../core/log.js'
import type { FlatAccess } from '../core/permissions.js'
import { openStore } from '../store/index.js'
import { configFile, DEFAULT_FILES } from './common/config-file.js'
import { Exit, type DefineCommand } from './common/command.js'
import { callApi } from './common/control-client.js'

interface Options extends FlatAccess {
  readonly name: string
  readonly config?: string
  readonly expiresOn?: string
  readonly token?: string
  readonly json?: boolean
}

const several = (value: string, before: readonly string[] = []): string[] => [...before, value]

/** `edged token create`: creates an API token and prints it once. */
export const token: DefineCommand = (command) => {
  command
    .command('create')
    .description('create an API token and print it (shown only once)')
    .option('-c, --config <file>', `the configuration file of the daemon (default: ${DEFAULT_FILES})`)
    .requiredOption('--name <name>', 'name of the token')
    .requiredOption(
      '--permission <name>',
      'permission to grant, for example "Zone Settings Write", or "*" for all (repeatable)',
      several,
    )
    .option('--account <id>', 'account that it is valid for (repeatable; default: all)', several)
    .option('--zone <id>', 'zone that it is valid for (repeatable; default: all)', several)
    .option('--expires-on <time>', 'end of its validity, for example 2027-01-01T00:00:00Z')
    .option(
      '--token <token>',
      'token to call the API of a running daemon with (default: EDGED_TOKEN, else one of the configuration)',
    )
    .option('--json', 'print an object with id, name and token')
    .addHelpText(
      'after',
      '\nWhile a daemon runs, the token is created through its API, with a token that has all permissions.' +
        '\nExit codes: 0 created, 2 the configuration cannot be used, 1 anything else.',
    )
    .action(async (given: Record<string, unknown>) => {
      const options = {
        ...given,
        permissions: given['permission'],
        accounts: given['account'] ?? ['*'],
        zones: given['zone'] ?? ['*'],
      } as unknown as Options
      const made = await create(loadConfig(configFile(options.config)), options)
      process.stdout.write(options.json ? `${JSON.stringify({ ...made, name: options.name })}\n` : `${made.token}\n`)
    })
}

/** In the store, or through the API of the daemon that has it open. */
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
    if (error instanceof InvalidInput) throw new Exit(1, `the token was not created: ${error.message}`)
    throw error
  } finally {
    await store.close()
  }
}

async function createThroughApi(config: Config, options: Options): Promise<{ id: string; token: string }> {
  const admin = config.tokens.find(({ permissions }) => permissions.includes('*'))
  const token = options.token ?? process.env['EDGED_TOKEN'] ?? admin?.token
  if (token === undefined)
    throw new Exit(
      1,
      'a running daemon has the store open, so the token is created through its API, which takes a token that may do all: ' +
        'name one with --token, or add one with permissions ["*"] to tokens in the configuration; or stop the daemon first',
    )
  const policies = flatPolicies(options).map(({ effect, permissions, resources }) => ({
    effect,
    permission_groups: permissions.map((name) => ({ name })),
    resources,
  }))
  const body = {
    name: options.name,
    policies,
    ...(options.expiresOn !== undefined && { expires_on: options.expiresOn }),
  }
  const call = { path: '/user/tokens', token, body }
  const { success, result, errors } = await callApi<{ id: string; value: string }>(config, call)
  if (!success)
    throw new Exit(
      1,
      `the token was not created: ${errors.map(({ message, source }) => `${source?.pointer ?? ''} ${message}`.trim()).join('; ')}`,
    )
  return { id: result.id, token: result.value }
}
