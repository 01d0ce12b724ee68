import { Type, type Static } from 'typebox'
import type { StoredDomain } from '../../src/core/model/worker-routing.js'
import { strict } from '../../src/core/schema.js'
import type { ControlConfig } from '../http/context.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, STORED_WITHOUT_EFFECT, type Message } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import { covers } from '../zones/hostname-match.js'
import { DomainRepository } from './services/domain-repository.js'
import type { WorkersDeps } from './services/index.js'

const PATH = '/workers/domains'
const OF_SCRIPT = '/workers/scripts/:script_name/domains'

const Domain = Type.Object({
  id: Type.String(),
  cert_id: Type.String({ description: 'Empty: certificates are not kept here.' }),
  enabled: Type.Boolean(),
  environment: Type.String(),
  hostname: Type.String(),
  previews_enabled: Type.Boolean(),
  service: Type.String({ description: 'Name of the Worker.' }),
  zone_id: Type.String(),
  zone_name: Type.String(),
})
const wanted = {
  hostname: Type.String({ maxLength: 255 }),
  zone_id: Type.Optional(Type.String({ description: 'Default: the zone that the host name belongs to.' })),
  zone_name: Type.Optional(Type.String()),
  enabled: Type.Optional(Type.Boolean()),
  previews_enabled: Type.Optional(Type.Boolean()),
}
const NewDomain = Type.Object(
  {
    ...wanted,
    service: Type.String({ minLength: 1, description: 'Name of the Worker.' }),
    environment: Type.Optional(Type.String({ deprecated: true })),
  },
  strict,
)
const Origins = Type.Array(Type.Object(wanted, strict), { maxItems: 1000 })
const Records = Type.Object(
  {
    origins: Origins,
    override_scope: Type.Optional(Type.Boolean({ description: 'Domains that are not named go.' })),
    override_existing_origin: Type.Optional(Type.Boolean({ description: 'Domains of other Workers are taken.' })),
    override_existing_dns_record: Type.Optional(Type.Boolean({ description: 'No effect: there are no DNS records.' })),
  },
  strict,
)
const Changes = Type.Object({
  added: Type.Array(Domain),
  removed: Type.Array(Domain),
  updated: Type.Array(Type.Object({ ...Domain.properties, modified: Type.Boolean() })),
  conflicting: Type.Array(Domain),
})
const filters = ['zone_name', 'zone_id', 'service', 'hostname', 'environment'] as const

const rows = area({ scopes, access: ACCESS.workers, refusal: 'badDomain' }, (deps: WorkersDeps) => {
  const { edits } = deps
  const book = new DomainRepository(deps)
  return { book, edits, zones: () => deps.config().zones }
})

/** Host names that Workers respond to. */
export const domains = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the domains of Workers',
    query: Type.Object({
      zone_name: Type.Optional(Type.String()),
      zone_id: Type.Optional(Type.String()),
      service: Type.Optional(Type.String()),
      hostname: Type.Optional(Type.String()),
      environment: Type.Optional(Type.String({ deprecated: true })),
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Default: 1.' })),
      per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'Default: all.' })),
    }),
    result: Type.Array(Domain),
    handle({ book }, { scope, query }) {
      const fits = (domain: StoredDomain) =>
        filters.every((name) => query[name] === undefined || query[name] === domain[name])
      const found = book.all(scope).filter(fits)
      if (query.page === undefined && query.per_page === undefined) return whole(found.map(shown))
      return page(found, { page: query.page ?? 1, per_page: query.per_page ?? Math.max(found.length, 1) }, shown)
    },
  }),
  rows.put(PATH, {
    summary: 'Attach a host name to a Worker, also one that is attached to another Worker',
    body: NewDomain,
    result: Domain,
    async handle({ edits, book, zones }, call) {
      const { scope, body } = call
      return await edits.run(scope.id, async () => {
        const domain = book.checked(scope, body.service, body, '')
        book.requireScript(scope, body.service)
        if (book.taken(domain.hostname))
          throw new ApiError('domainTaken', '/hostname', `${domain.hostname} is a custom hostname of a zone`)
        await book.save(call, [domain])
        return new ApiResponse(shown(domain), { messages: isServed(zones(), domain) ? [] : [storedOnly(domain)] })
      })
    },
  }),
  ...[`${PATH}/:domain_id`, `${PATH}/records/:domain_id`].map((path) =>
    rows.get(path, {
      summary: 'Read a domain',
      result: Domain,
      handle: ({ book }, { scope, params }) =>
        shown(book.get(scope, (params as { domain_id: string }).domain_id).value),
    }),
  ),
  rows.delete(`${PATH}/:domain_id`, {
    summary: 'Detach a host name from its Worker',
    bare: true,
    async handle({ edits, book }, call) {
      const { scope, params } = call
      await edits.run(scope.id, async () => {
        await book.save(call, [], [book.get(scope, params.domain_id).value])
      })
    },
  }),
  rows.post(`${OF_SCRIPT}/changeset`, {
    permissions: ACCESS.workers.read,
    summary: 'Tell what a list of domains would change',
    query: Type.Object({ replace_state: Type.Boolean({ default: false }) }),
    body: Origins,
    maxBytes: 1_000_000,
    result: Changes,
    handle({ book }, { scope, params, body, query }) {
      book.requireScript(scope, params.script_name)
      const { added, removed, updated, conflicting } = book.changes(
        scope,
        params.script_name,
        body,
        query.replace_state,
      )
      return {
        added: added.map(shown),
        removed: removed.map(shown),
        updated: updated.map((domain) => ({ ...shown(domain), modified: domain.modified })),
        conflicting: conflicting.map(shown),
      }
    },
  }),
  rows.put(`${OF_SCRIPT}/records`, {
    summary: 'Attach a list of host names to a Worker, all or none',
    body: Records,
    maxBytes: 1_000_000,
    result: Type.Array(Domain),
    async handle({ edits, book, zones }, call) {
      const { scope, params, body } = call
      const service = params.script_name
      return await edits.run(scope.id, async () => {
        book.requireScript(scope, service)
        const changes = book.changes(scope, service, body.origins, body.override_scope === true, '/origins')
        const at = (domain: StoredDomain | undefined) =>
          body.origins.findIndex(({ hostname }) => hostname.toLowerCase() === domain?.hostname)
        const [conflict] = changes.conflicting
        if (conflict)
          throw new ApiError(
            'domainTaken',
            `/origins/${at(conflict)}/hostname`,
            `${conflict.hostname} is a custom hostname of a zone`,
          )
        const others = changes.updated.find(({ modified }) => modified)
        if (others && body.override_existing_origin !== true)
          throw new ApiError(
            'domainTaken',
            `/origins/${at(others)}/hostname`,
            `${others.hostname} belongs to another Worker`,
          )
        const after = [...changes.added, ...changes.updated.map(({ modified: _modified, ...domain }) => domain)]
        // Clients of this endpoint show errors, not messages.
        const notServed = after.find((domain) => !isServed(zones(), domain))
        if (notServed) throw new ApiError('badDomain', `/origins/${at(notServed)}/hostname`, howToServe(notServed))
        await book.save(call, after, changes.removed)
        return after.map(shown)
      })
    },
  }),
])

/** Returns whether a zone serves a domain: the zone lists no host names, or the domain is among its host names. */
function isServed(zones: ControlConfig['zones'], { hostname, zone_id: id }: StoredDomain): boolean {
  const listed = zones.find((zone) => zone.id === id)?.hostnames
  return listed === undefined || listed.some((one) => one === '*' || covers(one, hostname))
}

const howToServe = ({ hostname, zone_name: zone }: StoredDomain): string =>
  `the zone ${zone} does not serve ${hostname}; add it to zones[].hostnames in the configuration file`

const storedOnly = (domain: StoredDomain): Message => ({
  code: STORED_WITHOUT_EFFECT,
  message: `stored, but ${howToServe(domain)}`,
  source: { pointer: '/hostname' },
})

const shown = (domain: StoredDomain): Static<typeof Domain> => ({
  id: domain.id,
  cert_id: '',
  enabled: domain.enabled,
  environment: domain.environment,
  hostname: domain.hostname,
  previews_enabled: domain.previews_enabled,
  service: domain.service,
  zone_id: domain.zone_id,
  zone_name: domain.zone_name,
})
