import { Type, type Static } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import { newUuid } from '../../src/core/ids.js'
import { HOSTNAME, HOSTNAME_OWNER, type Hostname, type HostnameSsl } from '../../src/core/model/hostname.js'
import { DAEMON, type Scope } from '../../src/core/scope.js'
import { VersionConflict } from '../../src/core/store.js'
import { KeyedEdits } from '../resources/keyed-edits.js'
import { audited, auditOf } from '../resources/audit.js'
import { area } from '../http/area.js'
import { ApiResponse, withoutEffect } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { ApiError } from '../http/errors.js'
import { CERTIFICATE_STATUSES, CertificateStates, type CertificateState } from './certificate-states.js'
import { covers, hostName } from './hostname-match.js'
import { HostnameChange, HostnameInput, HostnameQuery, HostnameResult, MAX_METADATA_BYTES } from './hostname-schemas.js'
import { page } from '../http/paging.js'
import { QuotaReservation } from '../resources/quota.js'
import type { ControlDeps } from '../http/context.js'

const rows = area({ scopes: ['zone'], access: ACCESS.certificates, refusal: 'badHostname' }, (deps: ControlDeps) => {
  const { config, store, clock } = deps
  const states = new CertificateStates(deps)
  const edits = new KeyedEdits()
  const room = new QuotaReservation()
  const stored = (scope: Scope, id: string) => {
    const found = store.get(HOSTNAME, scope, id)
    if (!found) throw new ApiError('unknownHostname')
    return found
  }
  const assertFree = (name: string, zoneId: string): void => {
    for (const zone of config().zones) {
      const own = zone.hostnames ?? [zone.name, `*.${zone.name}`]
      // A name below the zone's own can become a custom hostname; one of another zone would be taken from that zone.
      if (own.some((pattern) => (zone.id === zoneId ? pattern.toLowerCase() === name : covers(pattern, name))))
        throw new ApiError('duplicateHostname', '/hostname', `${name} is served by a zone already`)
    }
    if (store.get(HOSTNAME_OWNER, DAEMON, name)) throw new ApiError('duplicateHostname', '/hostname')
  }
  /** Returns the function that adds the state of the certificate to a hostname. */
  const certified = async () => {
    const files = await states.files()
    return (hostname: Hostname): Certified => {
      const { hostname: name, ssl } = hostname
      const state = states.of(name, files)
      return { hostname, state, ssl: ssl ?? (state?.source === 'acme' ? { id: hostname.id } : undefined) }
    }
  }
  const quota = (scope: Scope) => {
    const allocated = config().control.quotas.custom_hostnames_per_zone
    const used = store.count(HOSTNAME, scope)
    return { allocated, used, hard_cap: allocated, exceeded: used >= allocated }
  }
  return { store, quota, stored, clock, room, assertFree, edits, certified }
})

/** Custom hostnames: customers' host names that a zone serves, active immediately. */
export const hostnames = rows.endpoints([
  rows.get('/custom_hostnames', {
    summary: 'List, search and sort the custom hostnames of a zone',
    query: HostnameQuery,
    result: Type.Array(HostnameResult),
    async handle({ store, certified }, { scope, query }) {
      const fits = filter(query)
      const withState = await certified()
      const found = [...store.list(HOSTNAME, scope)].map(({ value }) => withState(value)).filter(fits)
      const rank = RANKS[query.order]
      found.sort((a, b) => rank(a) - rank(b) || (a.hostname.hostname < b.hostname.hostname ? -1 : 1))
      return page(query.direction === 'asc' ? found : found.toReversed(), query, shown)
    },
  }),
  rows.get('/custom_hostnames/quota', {
    summary: 'Tell how many custom hostnames the zone may have',
    result: Type.Object({
      allocated: Type.Integer(),
      used: Type.Integer(),
      hard_cap: Type.Integer(),
      exceeded: Type.Boolean(),
    }),
    handle: ({ quota }, { scope }) => quota(scope),
  }),
  rows.get('/custom_hostnames/:custom_hostname_id', {
    summary: 'Read a custom hostname',
    result: HostnameResult,
    async handle({ stored, certified }, { scope, params }) {
      const withState = await certified()
      return shown(withState(stored(scope, params.custom_hostname_id).value))
    },
  }),
  rows.post('/custom_hostnames', {
    summary: 'Add a custom hostname; it is served immediately',
    body: HostnameInput,
    result: HostnameResult,
    further: (_, { body }) => furtherIssues(body),
    async handle({ store, clock, room, assertFree, quota, certified }, call) {
      const { scope, body } = call
      assertNoIssues(furtherIssues(body))
      const name = hostName(body.hostname) ?? ''
      const { hostname: _name, ...change } = body
      const id = newUuid()
      const created_at = new Date(clock.now()).toISOString()
      const value = changed({ id, hostname: name, created_at }, change)
      const { allocated, used } = quota(scope)
      assertFree(name, scope.id)
      await room
        .take(scope.id, allocated - used, 'hostnameQuota', async () => {
          await store.batch(
            ...audited(clock, call, { kind: HOSTNAME, scope, id, after: value }, [
              { kind: HOSTNAME_OWNER, scope: DAEMON, id: name, value: { zone_id: scope.id, id }, ifVersion: 0 },
            ]),
          )
        })
        .catch((error: unknown) => {
          throw error instanceof VersionConflict ? new ApiError('duplicateHostname', '/hostname') : error
        })
      const withState = await certified()
      return new ApiResponse(shown(withState(value)), { messages: withoutEffect(inert(body)) })
    },
  }),
  rows.patch('/custom_hostnames/:custom_hostname_id', {
    summary: 'Change a custom hostname; custom_metadata.content_converter "enabled" marks it for conversion',
    body: HostnameChange,
    result: HostnameResult,
    further: (_, { body }) => furtherIssues(body),
    async handle({ store, clock, stored, certified }, call) {
      const { scope, body } = call
      assertNoIssues(furtherIssues(body))
      const id = call.params.custom_hostname_id
      stored(scope, id)
      const after = await store.change(
        HOSTNAME,
        scope,
        id,
        (old) => old && changed(old, body),
        auditOf(clock, call, { kind: HOSTNAME, scope, id }),
      )
      if (!after) throw new ApiError('unknownHostname')
      const withState = await certified()
      return new ApiResponse(shown(withState(after.value)), { messages: withoutEffect(inert(body)) })
    },
  }),
  rows.delete('/custom_hostnames/:custom_hostname_id', {
    summary: 'Remove a custom hostname',
    result: Type.Object({ id: Type.String() }),
    top: Type.Object({ id: Type.String({ description: 'The same id, for clients that read it here.' }) }),
    async handle({ store, clock, edits, stored }, call) {
      const { scope } = call
      const id = call.params.custom_hostname_id
      await edits.run(id, async () => {
        const { version, value } = stored(scope, id)
        await store.batch(
          ...audited(clock, call, { kind: HOSTNAME, scope, id, before: value, ifVersion: version }, [
            { kind: HOSTNAME_OWNER, scope: DAEMON, id: value.hostname, value: undefined },
          ]),
        )
      })
      return new ApiResponse({ id }, { top: { id } })
    },
  }),
])

/**
 * Returns the members of a write that have no effect. These are the members of `ssl` except `wildcard`. Removing `ssl`
 * is complete.
 */
const inert = ({ ssl }: HostnameChange): string[] =>
  ssl && Object.keys(ssl).some((name) => name !== 'wildcard') ? ['/ssl'] : []

/** A hostname with its certificate. */
interface Certified {
  readonly hostname: Hostname
  /** Undefined if TLS ends in front of the proxy. */
  readonly state: CertificateState | undefined
  /** The stored options; defaults if a certificate is ordered without any; undefined: the result has no `ssl`. */
  readonly ssl: Hostname['ssl']
}

const statusOf = ({ state }: Certified): Status => state?.status ?? 'active'
type Status = (typeof CERTIFICATE_STATUSES)[number]

const RANKS: Record<HostnameQuery['order'], (one: Certified) => number> = {
  ssl: ({ ssl }) => (ssl === undefined ? 0 : 1),
  ssl_status: (one) => (one.ssl === undefined ? 0 : 1 + CERTIFICATE_STATUSES.indexOf(statusOf(one))),
}

type Result = Static<typeof HostnameResult>

function shown(one: Certified): Result {
  const { ssl: _stored, ...hostname } = one.hostname
  const { ssl, state } = one
  const leaf = state?.leaf?.()
  return {
    ...hostname,
    ...(ssl && {
      ssl: {
        ...SSL_DEFAULTS,
        ...ssl,
        status: statusOf(one),
        hosts: sslHosts(hostname.hostname, ssl),
        ...(leaf && {
          issuer: leaf.issuer,
          serial_number: leaf.serialNumber,
          uploaded_on: leaf.notBefore,
          expires_on: leaf.notAfter,
        }),
        ...(state?.error !== undefined && { validation_errors: [{ message: state.error }] }),
      },
    }),
    status: 'active',
    verification_errors: [],
  }
}

const SSL_DEFAULTS = { type: 'dv', method: 'http', bundle_method: 'ubiquitous', wildcard: false } as const

const sslHosts = (name: string, { wildcard }: HostnameSsl): string[] => (wildcard ? [name, `*.${name}`] : [name])

/** Returns the hostname after a change; null removes a member. */
function changed(old: Hostname, change: HostnameChange): Hostname {
  const { custom_metadata, custom_origin_server, custom_origin_sni, ssl, ...rest } = old
  const kept = { custom_metadata, custom_origin_server, custom_origin_sni, ssl, ...change }
  const server = kept.custom_origin_server
  return {
    ...rest,
    ...(kept.custom_metadata && { custom_metadata: kept.custom_metadata }),
    ...(server && { custom_origin_server: hostName(server) ?? server }),
    ...(kept.custom_origin_sni && { custom_origin_sni: kept.custom_origin_sni }),
    ...(kept.ssl && { ssl: mergedSsl(ssl, kept.ssl) }),
  }
}

function mergedSsl(old: Hostname['ssl'], change: HostnameSsl): NonNullable<Hostname['ssl']> {
  const settings = { ...old?.settings, ...change.settings }
  return {
    id: newUuid(),
    ...SSL_DEFAULTS,
    ...old,
    ...change,
    ...(Object.keys(settings).length > 0 && { settings }),
  }
}

/** Returns the issues that the schema cannot express. */
function furtherIssues(body: HostnameChange & { readonly hostname?: string }): Issue[] {
  const { hostname, custom_metadata, custom_origin_server, custom_origin_sni } = body
  const issues: Issue[] = []
  if (hostname !== undefined && hostName(hostname) === undefined)
    issues.push({ pointer: '/hostname', message: 'must be a host name, as in app.example.com' })
  if (custom_metadata && Buffer.byteLength(JSON.stringify(custom_metadata)) > MAX_METADATA_BYTES)
    issues.push({ pointer: '/custom_metadata', message: `is larger than ${MAX_METADATA_BYTES} bytes of JSON` })
  if (custom_origin_server && hostName(custom_origin_server) === undefined)
    issues.push({ pointer: '/custom_origin_server', message: 'must be a host name, as in origin.example.com' })
  if (custom_origin_sni && custom_origin_sni !== ':request_host_header:' && hostName(custom_origin_sni) === undefined)
    issues.push({ pointer: '/custom_origin_sni', message: 'must be a host name or :request_host_header:' })
  return issues
}

function filter(query: HostnameQuery): (one: Certified) => boolean {
  const exact = (query['hostname.exact'] ?? query.hostname)?.toLowerCase()
  const contained = query['hostname.contain']?.toLowerCase()
  const start = query['hostname.startsWith']?.toLowerCase()
  const server = query.custom_origin_server?.toLowerCase()
  const { id, ssl, ssl_status, hostname_status, certificate_authority, wildcard } = query
  return (certified) => {
    const { hostname: one, ssl: shownSsl } = certified
    return (
      (exact === undefined || one.hostname === exact) &&
      (contained === undefined || one.hostname.includes(contained)) &&
      (start === undefined || one.hostname.startsWith(start)) &&
      (id === undefined || one.id === id) &&
      (ssl === undefined || (shownSsl === undefined ? 0 : 1) === ssl) &&
      (ssl_status === undefined || (shownSsl !== undefined && ssl_status === statusOf(certified))) &&
      (hostname_status === undefined || hostname_status === 'active') &&
      (server === undefined || one.custom_origin_server === server) &&
      (certificate_authority === undefined || one.ssl?.certificate_authority === certificate_authority) &&
      (wildcard === undefined || (one.ssl?.wildcard ?? false) === wildcard)
    )
  }
}
