import { Type, type Static } from 'typebox'
import type { ZoneConfig } from '../../src/config/schema.js'
import { HOSTNAME } from '../../src/core/model/hostname.js'
import { SETTING } from '../../src/core/model/setting.js'
import { area } from '../http/area.js'
import { configIndex } from '../http/auth/config-index.js'
import type { ControlDeps } from '../http/context.js'
import { ApiError } from '../http/errors.js'
import { whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import { SETTING_TEXTS, TOPICS } from './setting-texts.js'
import { SETTINGS, type SettingType } from './setting-types.js'

const Shown = Type.Object({
  id: Type.String(),
  topic: Type.Enum([...TOPICS]),
  title: Type.String({ description: 'For people.' }),
  description: Type.String({ description: 'What it does, in one sentence.' }),
  default: Type.Unknown({ description: 'In force until the API sets another value.' }),
  value: Type.Unknown({ description: 'In force now.' }),
  values: Type.Union([Type.Array(Type.Unknown()), Type.Null()], { description: 'All values of a switch or choice.' }),
  type: Type.Enum(['switch', 'choice', 'number', 'list', 'object']),
  acts: Type.Boolean({ description: 'False: it is stored, and edged does not act on it.' }),
  editable: Type.Boolean({ description: "Whether the zone's plan allows a change." }),
  source: Type.Enum(['default', 'file', 'api'], { description: 'Where the value comes from.' }),
})
type Shown = Static<typeof Shown>

const rows = area<Pick<ControlDeps, 'config' | 'store'>>({ scopes: ['zone'], access: ACCESS.zoneSettings })

/** The settings of a zone with their texts, for people. */
export const settingsByTopic = rows.endpoints([
  rows.get('/edged/settings', {
    summary: 'List the settings of a zone by topic, with their texts, defaults and whether they act',
    result: Type.Array(Shown),
    handle({ config, store }, { scope }) {
      const zone = configIndex(config()).zones.get(scope.id)
      if (!zone) throw new ApiError('notVisible')
      const hasCustomHostnames = store.count(HOSTNAME, scope) > 0
      const shown = [...SETTINGS.values()].map((type) =>
        shownSetting(type, zone, store.get(SETTING, scope, type.id)?.value, hasCustomHostnames),
      )
      return whole(TOPICS.flatMap((topic) => shown.filter((setting) => setting.topic === topic)))
    },
  }),
])

function shownSetting(
  type: SettingType,
  zone: ZoneConfig,
  set: { readonly value: unknown } | undefined,
  hasCustomHostnames: boolean,
): Shown {
  const { id } = type
  const initial = type.initial(zone)
  const { topic, title, description } = SETTING_TEXTS[id] ?? { topic: 'General', title: id, description: '' }
  const isOfFile = (zone.settings as Readonly<Record<string, unknown>>)[id] !== undefined
  return {
    id,
    topic,
    title,
    description,
    default: initial,
    value: set ? set.value : initial,
    ...formOf(type),
    acts: type.acts,
    editable: type.editable(zone, hasCustomHostnames),
    source: set ? 'api' : isOfFile ? 'file' : 'default',
  }
}

/** Parts of a schema that say which values a setting takes. */
interface ValueSchema {
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly { readonly const?: unknown }[]
  readonly type?: string
}

/** Returns how a form shows a setting. */
function formOf({ schema }: SettingType): Pick<Shown, 'type' | 'values'> {
  const { enum: listed, anyOf, type } = schema as ValueSchema
  const values = listed ?? anyOf?.map((one) => one.const)
  if (values) return { type: values.length === 2 && values.includes('on') ? 'switch' : 'choice', values: [...values] }
  if (type === 'array') return { type: 'list', values: null }
  return { type: type === 'object' ? 'object' : 'number', values: null }
}
