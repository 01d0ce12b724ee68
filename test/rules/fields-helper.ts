import type { Test } from 'tap'
import { systemClock } from '../../src/core/clock.js'
import { Geo } from '../../src/edge/exchange/geo.js'
import { fieldContext } from '../../src/rules/fields/index.js'
import { compileValue, formatIp, parseValue, SCHEME, type Context, type Value } from '../../src/expr/index.js'
import { sendRaw, startOrigin, startProxy, testZone } from '../helpers/proxy.js'

/** Returns a value in the form that tests compare. */
function shown(value: Value | undefined, name: string): unknown {
  if (value === undefined) return undefined
  if (SCHEME.field(name)?.type.kind === 'Ip') return formatIp(value as string | number)
  return value instanceof Map ? Object.fromEntries(value) : value
}

/** Returns the value of a field. */
export const read = (context: Context, name: string) => shown(compileValue(parseValue(name))(context), name)

/** Creates a proxy that returns the fields of the requests sent through it. */
export async function fieldsOf(
  t: Test,
  { yaml, members = '', geo }: { yaml?: string; members?: string; geo?: Geo } = {},
): Promise<(request: string | Buffer, names: readonly string[]) => Promise<Record<string, unknown>>> {
  const origin = await startOrigin(t, (request, response) => {
    request.resume()
    response.end('ok')
  })
  let names: readonly string[] = []
  let found: Record<string, unknown> = {}
  const parts = { clock: systemClock, geo: geo ?? new Geo() }
  const proxy = await startProxy(t, [testZone(origin.url, members)], {
    ...(yaml !== undefined && { yaml }),
    stages: [
      (exchange, next) => {
        const context = fieldContext(exchange, parts)
        found = Object.fromEntries(names.map((name) => [name, read(context, name)]))
        return next
      },
    ],
  })
  return async (request, wanted) => {
    names = wanted
    found = {}
    const result = await sendRaw(proxy.port, request)
    if (result.status !== 200) throw new Error(result.text)
    return found
  }
}

export const END = 'Connection: close\r\n\r\n'

export const get = (target: string, ...headers: string[]) =>
  [`GET ${target} HTTP/1.1`, 'Host: example.test', ...headers, END].join('\r\n')

export const bytes = (text: string) => Buffer.from(text).toString('latin1')

export const URI = 'http.request.uri'

export const HEADERS = 'http.request.headers'
