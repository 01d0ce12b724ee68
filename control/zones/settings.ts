import { Type } from 'typebox'
import type { ZoneConfig } from '../../src/config/schema.js'
import type { Issue } from '../../src/core/errors.js'
import { HOSTNAME } from '../../src/core/model/hostname.js'
import { DEVELOPMENT_MS, SETTING, type Setting } from '../../src/core/model/setting.js'
import { strict } from '../../src/core/schema.js'
import { zone as zoneScope, type Scope } from '../../src/core/scope.js'
import { KeyedEdits } from '../resources/keyed-edits.js'
import { audit } from '../resources/audit.js'
import { configIndex } from '../http/auth/config-index.js'
import { area } from '../http/area.js'
import { ApiResponse, withoutEffect, type Call } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { ApiError, ApiErrors } from '../http/errors.js'
import { whole } from '../http/paging.js'
import type { ControlDeps } from '../http/context.js'
import { SETTINGS, type SettingType } from './setting-types.js'

const SettingResult = Type.Object({
  id: Type.String(),
  value: Type.Unknown({ description: 'Depends on the setting; on or off for most.' }),
  enabled: Type.Optional(Type.Boolean({ description: 'Only of ssl_recommender: whether the value is on.' })),
  editable: Type.Boolean({ description: "Whether the zone's plan allows a change." }),
  modified_on: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'Null until the API has set a value.',
  }),
  time_remaining: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Seconds until development_mode ends; only of this setting.' }),
  ),
})

const NewValue = {
  value: Type.Optional(Type.Unknown({ description: 'The new value; on or off for most settings.' })),
  enabled: Type.Optional(Type.Boolean({ description: 'Only of ssl_recommender, in place of the value.' })),
}
/** A change without `enabled` lacks its value. */
// oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
const orValue = { ...strict, if: { not: { required: ['enabled'] } }, then: { required: ['value'] } }
const SettingInput = Type.Object(NewValue, orValue)

/** The setting that has a boolean member in place of a value in the public API. */
const RECOMMENDER = 'ssl_recommender'

/** A change of one setting, as clients send it. */
interface GivenSetting {
  readonly id: string
  readonly value?: unknown
  readonly enabled?: boolean
}

/** One checked change of a setting. `at` is the pointer to the object with the value, and `member` has the value. */
interface SettingChange {
  readonly id: string
  readonly value: unknown
  readonly at: string
  readonly member: 'value' | 'enabled'
}

function changeOf({ id, value, enabled }: GivenSetting, at: string): SettingChange {
  if (enabled === undefined) return { id, value, at, member: 'value' }
  if (id !== RECOMMENDER) throw new ApiError('badSetting', `${at}/enabled`, `is a member of ${RECOMMENDER} only`)
  return { id, value: enabled ? 'on' : 'off', at, member: 'enabled' }
}

const SettingsInput = Type.Object(
  {
    items: Type.Array(Type.Object({ id: Type.String(), ...NewValue }, orValue), {
      minItems: 1,
      maxItems: 100,
    }),
  },
  strict,
)

const rows = area(
  { scopes: ['zone'], access: ACCESS.zoneSettings, refusal: 'badSetting' },
  ({ config, store, clock }: ControlDeps) => {
    const edits = new KeyedEdits()
    const zoneOf = (scope: Scope): ZoneConfig => {
      const zone = configIndex(config()).zones.get(scope.id)
      if (!zone) throw new ApiError('notVisible')
      return zone
    }
    const mayEdit = (zone: ZoneConfig, type: SettingType) =>
      type.editable(zone, store.count(HOSTNAME, zoneScope(zone.id)) > 0)
    const shown = (zone: ZoneConfig, scope: Scope, id: string) => {
      const type = known(id)
      const set = store.get(SETTING, scope, id)?.value
      const stored = {
        id,
        value: set ? set.value : type.initial(zone),
        editable: mayEdit(zone, type),
        modified_on: set?.modified_on ?? null,
      }
      if (id === RECOMMENDER) return { ...stored, enabled: stored.value === 'on' }
      return id === 'development_mode' ? { ...stored, ...developmentMode(set, clock.now()) } : stored
    }
    /** Sets either all values or none. */
    const set = async (call: Call, changes: readonly SettingChange[]) => {
      const { scope } = call
      const zone = zoneOf(scope)
      const [first, ...others] = changes.flatMap((change, index) => [
        ...issuesOf(zone, change, mayEdit),
        ...(changes.findIndex((other) => other.id === change.id) < index
          ? [new ApiError('badSetting', `${change.at}/id`, 'is a duplicate')]
          : []),
      ])
      if (first) throw new ApiErrors([first, ...others])
      const modified_on = new Date(clock.now()).toISOString()
      await edits.run(scope.id, async () => {
        const edits = changes.map(({ id, value }) => {
          const before = store.get(SETTING, scope, id)
          const after: Setting = { value, modified_on }
          return { id, before, after }
        })
        await store.batch(
          edits.map(({ id, before, after }) => ({
            kind: SETTING,
            scope,
            id,
            value: after,
            ifVersion: before?.version ?? 0,
          })),
          edits.map(({ id, before, after }) =>
            audit(clock, call, { action: 'update', kind: SETTING, scope, id, before: before?.value, after }),
          ),
        )
      })
      const inert = changes
        .filter(({ id, value }) => !known(id).hasEffect(value))
        .map(({ at, member }) => `${at}/${member}`)
      return {
        results: changes.map(({ id }) => shown(zone, scope, id)),
        messages: withoutEffect(inert),
      }
    }
    return { zoneOf, shown, set }
  },
)

/** Endpoints of zone settings. */
export const settings = rows.endpoints([
  rows.get('/settings', {
    summary: 'List the settings of a zone',
    result: Type.Array(SettingResult),
    handle: ({ zoneOf, shown }, { scope }) => whole([...SETTINGS.keys()].map((id) => shown(zoneOf(scope), scope, id))),
  }),
  rows.patch('/settings', {
    summary: 'Change several settings of a zone, all or none',
    body: SettingsInput,
    result: Type.Array(SettingResult),
    further: (_, _call, { items }) => (Array.isArray(items) ? items.flatMap(valueIssues) : []),
    async handle({ set }, call) {
      const items = call.body.items.map((item, index) => changeOf(item, `/items/${index}`))
      const { results, messages } = await set(call, items)
      return new ApiResponse(results, { messages })
    },
  }),
  rows.get('/settings/:setting_id', {
    summary: 'Read a setting of a zone',
    result: SettingResult,
    handle: ({ zoneOf, shown }, { scope, params }) => shown(zoneOf(scope), scope, params.setting_id),
  }),
  rows.patch('/settings/:setting_id', {
    summary: 'Change a setting of a zone; content_converter switches the conversion to Markdown on or off',
    body: SettingInput,
    result: SettingResult,
    further: (_, { params, body }) => ('value' in body ? (SETTINGS.get(params.setting_id)?.issues(body) ?? []) : []),
    async handle({ zoneOf, shown, set }, call) {
      const id = call.params.setting_id
      known(id)
      const { messages } = await set(call, [changeOf({ id, ...call.body }, '')])
      return new ApiResponse(shown(zoneOf(call.scope), call.scope, id), { messages })
    },
  }),
])

/** Development mode is off again after its time. */
function developmentMode(set: Setting | undefined, now: number): { value: 'on' | 'off'; time_remaining: number } {
  const until = set?.value === 'on' ? Date.parse(set.modified_on) + DEVELOPMENT_MS : 0
  const time_remaining = Math.max(0, Math.ceil((until - now) / 1000))
  return { value: time_remaining > 0 ? 'on' : 'off', time_remaining }
}

function known(id: string): SettingType {
  const type = SETTINGS.get(id)
  if (!type) throw unknownSetting(id)
  return type
}

/** Returns the issues of the value of one item, for a body whose items do not all fit. */
function valueIssues(item: unknown, index: number): Issue[] {
  const { id, value } = Object(item) as { readonly id?: unknown; readonly value?: unknown }
  if (typeof id !== 'string' || value === undefined) return []
  const issues = SETTINGS.get(id)?.issues({ value }) ?? [{ pointer: '/id', message: `Undefined zone setting: ${id}` }]
  return issues.map(({ pointer, message }) => ({ pointer: `/items/${index}${pointer}`, message }))
}

const unknownSetting = (id: string, pointer?: string) =>
  new ApiError('unknownSetting', pointer, `Undefined zone setting: ${id}`)

function issuesOf(
  zone: ZoneConfig,
  { id, value, at }: { id: string; value: unknown; at: string },
  mayEdit: (zone: ZoneConfig, type: SettingType) => boolean,
): ApiError[] {
  const type = SETTINGS.get(id)
  if (!type) return [unknownSetting(id, `${at}/id`)]
  const without = id === 'edged_custom_hostnames' ? ' without custom hostnames' : ''
  const refused = `${id} is not available on the ${zone.plan} plan of the zone${without}`
  return [
    ...(mayEdit(zone, type) ? [] : [new ApiError('notEntitled', `${at}/value`, refused)]),
    ...type.issues({ value }).map(({ pointer, message }) => new ApiError('badSetting', at + pointer, message)),
  ]
}
