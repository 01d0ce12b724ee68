import { patch, sendWhole } from '../../api/client.ts'

/** A setting as `GET /zones/{id}/edged/settings` returns it. */
export interface Setting {
  readonly id: string
  readonly topic: string
  readonly title: string
  readonly description: string
  readonly default: unknown
  readonly value: unknown
  readonly values: readonly string[] | null
  readonly type: 'switch' | 'choice' | 'number' | 'list' | 'object'
  /** `false`: edged stores the value and does not act on it. */
  readonly acts: boolean
  readonly editable: boolean
  readonly source: 'file' | 'api' | 'default'
}

/** Words for values of choices that do not speak for themselves. */
const VALUE_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  edged_custom_hostnames: { selected: 'Those whose metadata say so', all: 'All' },
  cache_level: {
    aggressive: 'By the whole query string',
    basic: 'Without query strings',
    simplified: 'Ignore the query string',
  },
  ssl: {
    off: 'Off: HTTP',
    flexible: 'Flexible: HTTP',
    full: 'Full: HTTPS, any certificate',
    strict: 'Strict: HTTPS, certificate checked',
    origin_pull: 'Strict with a client certificate',
  },
  security_level: {
    off: 'Off',
    essentially_off: 'Essentially off',
    low: 'Low',
    medium: 'Medium',
    high: 'High',
    under_attack: 'Under attack',
  },
}

export const nameOfValue = (id: string, value: string): string => VALUE_NAMES[id]?.[value] ?? value

/** A value in few words. */
export function shownValue({ id, type }: Setting, value: unknown): string {
  if (type === 'choice') return nameOfValue(id, String(value))
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ')
  if (typeof value !== 'object' || value === null) return String(value)
  const on = Object.entries(flat(value)).filter(([, one]) => one !== false && one !== 0 && one !== null)
  return on.length === 0
    ? 'off'
    : on.map(([name, one]) => (one === true ? words(name) : `${words(name)} ${String(one)}`)).join(', ')
}

/** Members of an object, with those of objects inside. */
function flat(value: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) =>
      typeof one === 'object' && one !== null ? Object.entries(flat(one as object)) : [[name, one] as const],
    ),
  )
}

export const words = (name: string): string => name.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase())

/** Stores a value. Returns the notices of the API, for example that a value has no effect. */
export async function store(ofZone: string, id: string, value: unknown): Promise<readonly string[]> {
  const { messages } = await sendWhole('PATCH', `${ofZone}/settings/${id}`, { value })
  return messages.map(({ message }) => message)
}

export const putBack = async (ofZone: string, { id, value }: Setting): Promise<unknown> =>
  await patch(`${ofZone}/settings/${id}`, { value })
