import { readFileSync } from 'node:fs'
import { readYaml } from '../../config/yaml.js'
import { messageOf } from '../../core/errors.js'
import { askDaemon, type AdminOptions } from './admin-client.js'
import { usualFile } from './config-file.js'
import { Exit } from './command.js'

/** Options that select the API and the token. */
export interface ApiOptions extends AdminOptions {
  readonly url?: string
  readonly token?: string
}

export const API_HELP =
  '\nThe API is found by --url, else through the admin listener of the daemon (-c or --admin). The token is --token, else\n' +
  'EDGED_TOKEN, else the first one with all permissions in tokens: of the configuration file.'

interface Reply {
  readonly success: boolean
  readonly result: unknown
  readonly errors: readonly { readonly message: string; readonly source?: { readonly pointer?: string } }[]
}

/** The API of a running daemon. */
export interface Api {
  /** Base URL; ends in `/client/v4`. */
  readonly base: string
  /** Sends a request; throws {@link Exit} with what the API says if it fails. */
  call(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown>
}

/** Finds the API of the running daemon. Throws {@link Exit} if there is none, or no token for it. */
export async function openApi(options: ApiOptions): Promise<Api> {
  const base = (options.url ?? (await controlUrl(options))).replace(/\/$/, '')
  if (!/^https?:/.test(base))
    throw new Exit(1, `the API listens at ${base}; name a TCP address of it with --url http://HOST:PORT/client/v4`)
  const token = options.token ?? process.env['EDGED_TOKEN'] ?? configuredToken(options.config)
  if (token === undefined || token === '')
    throw new Exit(1, 'no token for the API; set EDGED_TOKEN, give --token, or name the configuration file with -c')
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return {
    base,
    async call(method, path, body) {
      let reply: Reply
      try {
        const text = body === undefined ? {} : { body: JSON.stringify(body) }
        const response = await fetch(`${base}${path}`, { method, headers, ...text })
        reply = (await response.json()) as Reply
      } catch (error) {
        throw new Exit(1, `the API does not respond at ${base}: ${messageOf(error)}`)
      }
      if (reply.success) return reply.result
      const why = reply.errors.map(({ message, source }) => `${source?.pointer ?? ''} ${message}`.trim())
      throw new Exit(1, `the API rejected the request: ${why.join('; ')}`)
    },
  }
}

async function controlUrl(options: AdminOptions): Promise<string> {
  const { body } = await askDaemon('GET', '/status', options)
  const { control } = (body as { listeners: { control?: string } }).listeners
  if (control === undefined) throw new Exit(1, 'the daemon is not ready; run the command again later')
  return control
}

/** Returns the first token of a configuration file that may do everything. */
function configuredToken(given: string | undefined): string | undefined {
  const file = given ?? usualFile()
  if (file === undefined) return undefined
  try {
    const { document } = readYaml(readFileSync(file, 'utf8'), file, process.env)
    const { tokens = [] } = document.toJS() as {
      tokens?: readonly { token?: string; permissions?: readonly string[] }[]
    }
    return tokens.find(({ permissions = [] }) => permissions.includes('*'))?.token
  } catch (error) {
    throw new Exit(1, `cannot read ${file}: ${messageOf(error)}; give the token with --token`)
  }
}
