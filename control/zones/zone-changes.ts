import { Type } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import { newId } from '../../src/core/ids.js'
import { ZONE_NAMES, ZONE_STATE_ID, ZONE_STATES, ZONES, type StoredZone } from '../../src/core/model/zone.js'
import { account, DAEMON, zone as zoneScope } from '../../src/core/scope.js'
import { VersionConflict, type Stored, type Write } from '../../src/core/store.js'
import { mayUse, notAllowed } from '../http/auth/access.js'
import { configIndex } from '../http/auth/config-index.js'
import { area } from '../http/area.js'
import { ApiResponse, withoutEffect, type Call, type Message } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { ApiError } from '../http/errors.js'
import type { ControlDeps } from '../http/context.js'
import { audit, audited } from '../resources/audit.js'
import { KeyedEdits } from '../resources/keyed-edits.js'
import { QuotaReservation } from '../resources/quota.js'
import { hostName } from './hostname-match.js'
import { assertNameFree } from './zone-conflicts.js'
import { removalWrites } from './zone-removal.js'
import { zoneResponse } from './zone-response.js'
import { ZoneChange, ZoneInput, ZoneResult } from './zone-schemas.js'

/** Maximum number of records that one batch deletes. */
const REMOVAL_BATCH = 5000

const rows = area({ scopes: ['zone'], access: ACCESS.zones, refusal: 'badZone' }, (deps: ControlDeps) => {
  const { config, store } = deps
  const shown = zoneResponse(deps)
  const read = ({ caller }: Pick<Call, 'caller'>, id: string): ZoneResult => {
    const zone = configIndex(config()).zones.get(id)
    if (!zone) throw new ApiError('notVisible')
    return shown(zone, caller)
  }
  const stored = ({ scope, accountId }: Pick<Call, 'scope' | 'accountId'>): Stored<StoredZone> => {
    const found = store.get(ZONES, account(accountId), scope.id)
    if (!found) throw new ApiError('zoneReadOnly')
    return found
  }
  /** Throws if the origin cannot be used. Returns messages about one that cannot be used yet. */
  const assertOrigin = async (origin: string | null | undefined): Promise<Message[]> => {
    if (typeof origin !== 'string') return []
    const pointer = '/edged/origin'
    if (!URL.canParse(origin)) throw new ApiError('badZone', pointer, 'is not a URL')
    const issue = await deps.originIssue?.(new URL(origin))
    if (issue?.isLasting) throw new ApiError('badZone', pointer, issue.message)
    return issue ? [{ code: UNRESOLVED_ORIGIN, message: issue.message, source: { pointer } }] : []
  }
  return { ...deps, read, stored, assertOrigin, edits: new KeyedEdits(), room: new QuotaReservation() }
})

/** Creates, changes and deletes zones. */
export const zoneChanges = rows.endpoints([
  rows.post('/zones', {
    scopes: ['daemon'],
    isForAccountOfBody: true,
    summary: 'Create a zone; `edged.origin` is the server that its requests are sent to',
    body: ZoneInput,
    result: ZoneResult,
    further: (_, { body }) => nameIssues(body.name),
    async handle({ config, store, clock, room, read, assertOrigin }, call) {
      const { account: owner, type = 'full', edged = {}, ...body } = call.body
      const id = newId()
      assertMayCreate(call, owner.id, id)
      assertNoIssues(nameIssues(body.name))
      if (!configIndex(config()).accounts.has(owner.id))
        throw new ApiError('badZone', '/account/id', 'is not an account of this server')
      const unresolved = await assertOrigin(edged.origin)
      const name = hostName(body.name) ?? ''
      assertNameFree({ config, store }, name, owner.id)
      const now = new Date(clock.now()).toISOString()
      const { origin, plan = 'pro' } = edged
      const zone: StoredZone = {
        id,
        account: owner.id,
        name,
        ...(typeof origin === 'string' && { origin: trimmed(origin) }),
        plan,
        created_on: now,
        modified_on: now,
      }
      const scope = account(owner.id)
      const more: Write[] = [{ kind: ZONE_NAMES, scope: DAEMON, id: name, value: { id }, ifVersion: 0 }]
      if (type !== 'full')
        more.push({ kind: ZONE_STATES, scope: zoneScope(id), id: ZONE_STATE_ID, value: { type, modified_on: now } })
      const places = config().control.quotas.zones_per_account - store.count(ZONES, scope)
      await room
        .take(owner.id, places, 'tooManyZones', async () => {
          await store.batch(...audited(clock, call, { kind: ZONES, scope, id, after: zone }, more))
        })
        .catch((error: unknown) => {
          throw error instanceof VersionConflict ? new ApiError('zoneExists', '/name', `${name} already exists`) : error
        })
      return new ApiResponse(read(call, id), { messages: [...unresolved, ...messagesOf(zone, call.body)] })
    },
  }),
  rows.patch('', {
    summary: 'Change a zone: pause it, or set its origin if it was created through the API',
    body: ZoneChange,
    result: ZoneResult,
    async handle({ store, clock, edits, read, stored, assertOrigin }, call) {
      const { scope, body } = call
      const { edged, ...state } = body
      if (edged) stored(call)
      const unresolved = await assertOrigin(edged?.origin)
      await edits.run(scope.id, async () => {
        const now = new Date(clock.now()).toISOString()
        const before = store.get(ZONE_STATES, scope, ZONE_STATE_ID)
        const after = { ...before?.value, ...state, modified_on: now }
        const changes = Object.keys(state).length > 0
        const writes: Write[] = changes
          ? [{ kind: ZONE_STATES, scope, id: ZONE_STATE_ID, value: after, ifVersion: before?.version ?? 0 }]
          : []
        const entries = changes
          ? [
              audit(clock, call, {
                action: 'update',
                kind: ZONE_STATES,
                scope,
                id: ZONE_STATE_ID,
                before: before?.value,
                after,
              }),
            ]
          : []
        if (edged && Object.keys(edged).length > 0) {
          const { version, scope: home, id, value } = stored(call)
          const next = { ...withOrigin(value, edged.origin), ...(edged.plan && { plan: edged.plan }), modified_on: now }
          writes.push({ kind: ZONES, scope: home, id, value: next, ifVersion: version })
          entries.push(audit(clock, call, { kind: ZONES, scope: home, id, before: value, after: next }))
        }
        if (writes.length > 0) await store.batch(writes, entries)
      })
      const zone = store.get(ZONES, account(call.accountId), scope.id)?.value
      return new ApiResponse(read(call, scope.id), { messages: [...unresolved, ...messagesOf(zone, body)] })
    },
  }),
  rows.delete('', {
    summary: 'Delete a zone that was created through the API, with everything in it',
    result: Type.Object({ id: Type.String() }),
    async handle({ store, clock, edits, stored }, call) {
      const { scope, accountId } = call
      const { id } = scope
      await edits.run(id, async () => {
        const { version, scope: home, value: before } = stored(call)
        // The zone itself last: a deletion that fails half way can be repeated.
        let rest = removalWrites(store, scope, accountId)
        for (; rest.length > REMOVAL_BATCH; rest = rest.slice(REMOVAL_BATCH))
          await store.batch(rest.slice(0, REMOVAL_BATCH))
        await store.batch(
          ...audited(clock, call, { kind: ZONES, scope: home, id, before, ifVersion: version }, [
            { kind: ZONE_NAMES, scope: DAEMON, id: before.name, value: undefined },
            ...rest,
          ]),
        )
      })
      return { id }
    },
  }),
])

/** A zone may be created by a caller with the permission for the account, or for all of its zones. */
function assertMayCreate({ caller }: Call, accountId: string, zone: string): void {
  if (
    !mayUse(caller, ACCESS.zones.write, { account: accountId }) &&
    !mayUse(caller, ACCESS.zones.write, { account: accountId, zone })
  )
    throw notAllowed(ACCESS.zones.write)
}

const nameIssues = (name: string | undefined): Issue[] =>
  name !== undefined && hostName(name) === undefined
    ? [{ pointer: '/name', message: 'must be a host name, as in example.com' }]
    : []

const trimmed = (origin: string): string => origin.replace(/\/$/, '')

/** Returns the zone with another origin; null removes it, undefined leaves it. */
function withOrigin({ origin: old, ...zone }: StoredZone, origin: string | null | undefined): StoredZone {
  const next = origin === undefined ? old : origin === null ? undefined : trimmed(origin)
  return { ...zone, ...(next !== undefined && { origin: next }) }
}

function messagesOf(zone: StoredZone | undefined, { type, vanity_name_servers: servers }: ZoneChange): Message[] {
  const inert = withoutEffect([
    ...(type !== undefined && type !== 'full' ? ['/type'] : []),
    ...(servers !== undefined && servers.length > 0 ? ['/vanity_name_servers'] : []),
  ])
  if (!zone || zone.origin !== undefined) return inert
  return [...inert, { code: NO_ORIGIN, message: NO_ORIGIN_TEXT, source: { pointer: '/edged/origin' } }]
}

const NO_ORIGIN = 10902
/** Code of the message about an origin whose name does not resolve. */
const UNRESOLVED_ORIGIN = 10909
const NO_ORIGIN_TEXT =
  'the zone has no origin: set edged.origin, or name a host with an origin rule (phase http_request_origin, action route)'
