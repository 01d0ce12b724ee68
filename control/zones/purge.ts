import { Type } from 'typebox'
import type { ZoneConfig } from '../../src/config/schema.js'
import { InvalidInput } from '../../src/core/errors.js'
import { newId } from '../../src/core/ids.js'
import { MAX_PURGE_RECORDS, PURGE, type StoredPurge } from '../../src/core/model/purge.js'
import { strict } from '../../src/core/schema.js'
import { configIndex } from '../http/auth/config-index.js'
import type { ControlDeps } from '../http/context.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { audit } from '../resources/audit.js'
import { covers } from './hostname-match.js'

const MAX_FILES = 500
const MAX_NAMES = 30

const File = Type.Union([
  Type.String({ minLength: 1, maxLength: 8192 }),
  Type.Object(
    {
      url: Type.String({ minLength: 1, maxLength: 8192 }),
      headers: Type.Optional(
        Type.Record(Type.String(), Type.String(), { description: 'Ignored: all variants of the URL are removed.' }),
      ),
    },
    strict,
  ),
])
const Names = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { minItems: 1, maxItems: MAX_NAMES, description }),
  )

const PurgeInput = Type.Object(
  {
    purge_everything: Type.Optional(Type.Literal(true, { description: 'All responses of the zone.' })),
    files: Type.Optional(
      Type.Array(File, { minItems: 1, maxItems: MAX_FILES, description: 'URLs, or objects with a url.' }),
    ),
    tags: Names('Tags of the field Cache-Tag or of set_cache_tags rules.'),
    hosts: Names('Host names.'),
    prefixes: Names('Host and beginning of the path, without scheme: example.com/images.'),
  },
  strict,
)

const MEMBERS = ['purge_everything', 'files', 'tags', 'hosts', 'prefixes'] as const

/** A stale response would only save a transfer from the origin, so both remove. */
const PATHS = [
  ['/purge_cache', 'Remove cached responses of a zone: everything, or by URL, tag, host or prefix'],
  ['/invalidate_cache', 'Remove cached responses of a zone, as purge_cache does'],
] as const

/** Removes cached responses. */
export function purge({ config, store, clock }: ControlDeps): Endpoint[] {
  return PATHS.map(([path, summary]) =>
    endpoint({
      method: 'post',
      path,
      scopes: ['zone'],
      permissions: ['Cache Purge'],
      summary,
      body: PurgeInput,
      result: Type.Object({ id: Type.String() }),
      async handle(call) {
        const { scope, body } = call
        const zone = configIndex(config()).zones.get(scope.id)
        if (!zone) throw new ApiError('notVisible')
        const given = MEMBERS.filter((name) => body[name] !== undefined)
        if (given.length !== 1)
          throw new ApiError(
            'invalid',
            given.length === 0 ? '' : `/${given[1]}`,
            `must have exactly one of ${MEMBERS.join(', ')}`,
          )
        const value: StoredPurge = { ...normalized(body, zone), at: clock.now() }
        const id = newId()
        const old = [...store.list(PURGE, scope)].sort((a, b) => a.version - b.version)
        await store.batch(
          [
            { kind: PURGE, scope, id, value, ifVersion: 0 },
            ...old.slice(0, Math.max(0, old.length - MAX_PURGE_RECORDS + 1)).map((record) => ({
              kind: PURGE,
              scope,
              id: record.id,
              value: undefined,
            })),
          ],
          [audit(clock, call, { kind: PURGE, scope, id, after: value })],
        )
        return { id }
      },
    }),
  )
}

type Body = Readonly<Partial<Record<'tags' | 'hosts' | 'prefixes', readonly string[]>>> & {
  readonly files?: readonly (string | { readonly url: string })[] | undefined
}

/** Returns the purge with its names as the cache compares them. Throws InvalidInput for names outside of the zone. */
function normalized(body: Body, zone: ZoneConfig): Pick<StoredPurge, 'kind' | 'values'> {
  const hosts = zone.hostnames ?? [zone.name, `*.${zone.name}`]
  const own = (host: string, pointer: string): string => {
    const name = host.toLowerCase()
    if (!hosts.some((pattern) => pattern === '*' || covers(pattern, name)))
      throw invalid(pointer, `${JSON.stringify(host)} is not a host name of the zone`)
    return name
  }
  if (body.files)
    return {
      kind: 'files',
      values: body.files.flatMap((file, i) => {
        const pointer = typeof file === 'string' ? `/files/${i}` : `/files/${i}/url`
        const text = typeof file === 'string' ? file : file.url
        if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) throw invalid(pointer, 'must be an http or https URL')
        const { hostname, pathname, search } = new URL(text)
        const host = own(hostname, pointer)
        return both(host, targetOf(text), pathname + search)
      }),
    }
  if (body.tags) return { kind: 'tags', values: body.tags.map((tag) => tag.trim().toLowerCase()) }
  if (body.hosts) return { kind: 'hosts', values: body.hosts.map((host, i) => own(host, `/hosts/${i}`)) }
  if (body.prefixes)
    return {
      kind: 'prefixes',
      values: body.prefixes.flatMap((prefix, i) => {
        const pointer = `/prefixes/${i}`
        if (/[?#]|:\/\//.test(prefix))
          throw invalid(pointer, 'must be host and path without scheme, query and fragment')
        const slash = prefix.indexOf('/')
        if (slash < 0) return own(prefix, pointer)
        const path = prefix.slice(slash)
        return both(own(prefix.slice(0, slash), pointer), path, new URL(`http://host${path}`).pathname)
      }),
    }
  return { kind: 'everything', values: [] }
}

/** Returns the target of a URL as it was written: clients other than browsers send it to the proxy like that. */
function targetOf(url: string): string {
  const [, target = ''] = /^https?:\/\/[^/?#\\]*([^#]*)/i.exec(url) ?? []
  return target.startsWith('/') ? target : `/${target}`
}

/** Returns a target as it was written and as browsers encode it. */
const both = (host: string, written: string, encoded: string): string[] =>
  written === encoded ? [host + encoded] : [host + encoded, host + written]

const invalid = (pointer: string, message: string) => new InvalidInput([{ pointer, message }])
