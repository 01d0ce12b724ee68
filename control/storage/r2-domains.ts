import { createHash } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import { DomainOptions, R2_DOMAINS, type BucketDomain } from '../../src/core/model/bucket-settings.js'
import { strict } from '../../src/core/schema.js'
import type { ControlConfig } from '../http/context.js'
import { ApiResponse, withoutEffect } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { BUCKET, bucketRows as rows } from './bucket-rows.js'

const MANAGED = `${BUCKET}/domains/managed` as const
const CUSTOM = `${BUCKET}/domains/custom` as const
const ONE = `${CUSTOM}/:domain` as const
const MAX_DOMAINS = 50

const Name = Type.String({
  maxLength: 253,
  pattern: '^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$',
  'x-message': 'must be a host name in lower case',
})
const Managed = Type.Object({
  bucketId: Type.String(),
  domain: Type.String({ description: 'Ends in .invalid: edged serves no bucket without a Worker.' }),
  enabled: Type.Boolean(),
})
const Shown = Type.Object({
  domain: Type.String(),
  enabled: Type.Boolean(),
  zoneId: Type.String(),
  zoneName: Type.Optional(Type.String()),
  ...DomainOptions,
})
const WithStatus = Type.Object({
  ...Shown.properties,
  status: Type.Object({ ownership: Type.Literal('unknown'), ssl: Type.Literal('unknown') }),
})
const NewDomain = Type.Object(
  {
    domain: Name,
    enabled: Type.Boolean(),
    zoneId: Type.String({ description: 'A zone of the account whose name the domain has or ends in.' }),
    ...DomainOptions,
  },
  strict,
)

/** The managed domain and the custom domains of a bucket. They are stored, and no bucket is served under them. */
export const r2Domains = rows.endpoints([
  rows.get(MANAGED, {
    summary: 'Read the managed domain of a bucket',
    result: Managed,
    handle: ({ read, bucketOf }, call) => managed(call.scope.id, bucketOf(call), read(call, R2_DOMAINS)?.managed),
  }),
  rows.put(MANAGED, {
    summary: 'Switch the managed domain of a bucket on or off',
    body: Type.Object({ enabled: Type.Boolean() }, strict),
    result: Managed,
    async handle({ change, bucketOf }, call) {
      const { enabled } = call.body
      await change(call, R2_DOMAINS, (old) => ({ custom: old?.custom ?? [], managed: enabled }))
      return new ApiResponse(managed(call.scope.id, bucketOf(call), enabled), {
        messages: withoutEffect(enabled ? ['/enabled'] : []),
      })
    },
  }),
  rows.get(CUSTOM, {
    summary: 'List the custom domains of a bucket',
    result: Type.Object({ domains: Type.Array(WithStatus) }),
    handle: ({ read }, call) => ({ domains: (read(call, R2_DOMAINS)?.custom ?? []).map(withStatus) }),
  }),
  rows.post(CUSTOM, {
    summary: 'Add a custom domain to a bucket',
    body: NewDomain,
    result: Shown,
    further: ({ zones }, { body, scope }) => zoneIssues(body, zones(), scope.id),
    async handle({ change, zones }, call) {
      const { body, scope } = call
      assertNoIssues(zoneIssues(body, zones(), scope.id))
      const zoneName = zones().find(({ id }) => id === body.zoneId)?.name
      const added: BucketDomain = { ...body, ...(zoneName !== undefined && { zoneName }) }
      await change(call, R2_DOMAINS, (old) => {
        const custom = old?.custom ?? []
        if (custom.some(({ domain }) => domain === added.domain)) throw new ApiError('domainTaken', '/domain')
        if (custom.length >= MAX_DOMAINS) throw new ApiError('tooManyDomains')
        return { managed: old?.managed ?? false, custom: [...custom, added] }
      })
      return new ApiResponse(added, { messages: withoutEffect(['/domain']) })
    },
  }),
  rows.get(ONE, {
    summary: 'Read a custom domain of a bucket',
    result: WithStatus,
    handle: ({ read }, call) => withStatus(found(read(call, R2_DOMAINS)?.custom, call.params.domain)),
  }),
  rows.put(ONE, {
    summary: 'Change a custom domain of a bucket',
    body: Type.Object({ enabled: Type.Optional(Type.Boolean()), ...DomainOptions }, strict),
    result: Shown,
    async handle({ change, read }, call) {
      const { body, params } = call
      await change(call, R2_DOMAINS, (old) => {
        const before = found(old?.custom, params.domain)
        const custom = (old?.custom ?? []).map((one) => (one === before ? { ...one, ...body } : one))
        return { managed: old?.managed ?? false, custom }
      })
      return new ApiResponse(found(read(call, R2_DOMAINS)?.custom, params.domain), { messages: withoutEffect(['']) })
    },
  }),
  rows.delete(ONE, {
    summary: 'Remove a custom domain from a bucket',
    result: Type.Object({ domain: Type.String() }),
    async handle({ change }, call) {
      const { domain } = call.params
      await change(call, R2_DOMAINS, (old) => {
        const gone = found(old?.custom, domain)
        return { managed: old?.managed ?? false, custom: (old?.custom ?? []).filter((one) => one !== gone) }
      })
      return { domain }
    },
  }),
])

function managed(account: string, bucket: string, enabled = false): Static<typeof Managed> {
  const id = createHash('sha256').update(`bucket:${account}:${bucket}`).digest('hex').slice(0, 32)
  return { bucketId: id, domain: `pub-${id}.r2.invalid`, enabled }
}

const withStatus = (domain: BucketDomain) => ({ ...domain, status: { ownership: 'unknown', ssl: 'unknown' } as const })

function found(domains: readonly BucketDomain[] = [], name: string): BucketDomain {
  const domain = domains.find((one) => one.domain === name)
  if (!domain) throw new ApiError('domainNotFound')
  return domain
}

function zoneIssues(
  { domain, zoneId }: Partial<Static<typeof NewDomain>>,
  zones: ControlConfig['zones'],
  account: string,
): Issue[] {
  if (domain === undefined || zoneId === undefined) return []
  const zone = zones.find((one) => one.id === zoneId && one.account === account)
  if (!zone) return [{ pointer: '/zoneId', message: 'is no zone of the account' }]
  const isBelow = domain === zone.name || domain.endsWith(`.${zone.name}`)
  return isBelow ? [] : [{ pointer: '/domain', message: `does not belong to the zone ${zone.name}` }]
}
