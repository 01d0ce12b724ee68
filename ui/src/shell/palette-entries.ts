import { useRead } from '../api/queries.ts'
import type { IconName } from '../parts/icon.tsx'
import { useZones, type Place } from '../place.tsx'
import type { To } from '../address.tsx'
import { pagesOf } from '../pages/index.ts'

/** One thing that the search opens. */
export interface Entry {
  readonly name: string
  readonly kind: string
  readonly icon: IconName
  readonly to?: To
  readonly href?: string
}

/** Ids of requests in responses and logs. */
const RAY = /^[0-9a-f]{16}(-[A-Z]{3})?$/

interface Named {
  readonly id: string
  readonly name?: string
  readonly description?: string
}

/** Kinds of objects that the search finds, with the path that lists them and the page that shows them. */
const KINDS: readonly {
  readonly kind: string
  readonly icon: IconName
  readonly page: string
  readonly scope: 'z' | 'a'
  readonly path: (place: Place) => string | undefined
}[] = [
  { kind: 'Worker', icon: 'zap', page: 'workers', scope: 'a', path: ({ ofAccount }) => `${ofAccount}/workers/scripts` },
  { kind: 'Log job', icon: 'logs', page: 'logs', scope: 'a', path: ({ ofAccount }) => `${ofAccount}/logpush/jobs` },
  { kind: 'List', icon: 'list', page: 'lists', scope: 'a', path: ({ ofAccount }) => `${ofAccount}/rules/lists` },
]

/** Returns what has a text in its name. Lists of objects are read when the search opens. */
export function usePaletteEntries(place: Place, text: string): readonly Entry[] {
  const zones = useZones()
  const [workers, jobs, lists] = [
    useRead<readonly Named[]>(KINDS[0]!.path(place)),
    useRead<readonly Named[]>(KINDS[1]!.path(place)),
    useRead<readonly Named[]>(KINDS[2]!.path(place)),
  ]
  const wanted = text.trim().toLowerCase()
  if (RAY.test(text.trim()) && place.zone)
    return [
      {
        name: text.trim(),
        kind: 'Request',
        icon: 'search',
        to: { page: 'requests', rest: [text.trim().slice(0, 16)] },
      },
    ]
  const objects = [workers, jobs, lists].flatMap(({ value = [] }, at) => {
    const { kind, icon, page, scope } = KINDS[at]!
    return value.map(({ id, name, description }): Entry => ({
      name: name || description || id,
      kind,
      icon,
      to: { scope, place: place.account.id, page, rest: [id] },
    }))
  })
  const all: readonly Entry[] = [
    ...pagesOf(place).map(({ title, icon, path, scope }): Entry => ({
      name: title,
      kind: 'Page',
      icon,
      to: scope === (place.zone ? 'z' : 'a') ? { page: path } : { scope, place: place.account.id, page: path },
    })),
    ...(zones.value ?? []).map(({ name }): Entry => ({
      name,
      kind: 'Zone',
      icon: 'globe',
      to: { scope: 'z', place: name },
    })),
    ...objects,
    { name: 'Documentation', kind: 'Manual', icon: 'circle-help', href: '/docs/' },
  ]
  return all.filter(({ name, kind }) => `${name} ${kind}`.toLowerCase().includes(wanted))
}
