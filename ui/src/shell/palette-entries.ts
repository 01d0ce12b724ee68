import { useQueries, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Section } from '../../docs/client/manual-index.ts'
import { get } from '../api/client.ts'
import type { PageRow } from '../page-row.ts'
import type { IconName } from '../parts/icon.tsx'
import { useZones, type Place } from '../place.tsx'
import type { To } from '../address.tsx'
import { pagesOf } from '../pages/index.ts'
import { useSettled } from '../settled.ts'

/** One thing that the search opens. */
export interface Entry {
  readonly name: string
  readonly kind: string
  readonly icon: IconName
  readonly to?: To
  readonly href?: string
}

/** Sections of the manual below the other results. */
const MAX_SECTIONS = 4
const MIN_LETTERS = 2

/** Sections of the manual with the words. The index is the same as the index of the documentation, and is read once. */
function useManual(text: string): readonly Entry[] {
  const index = useQuery({
    queryKey: ['manual'],
    queryFn: async () => await (await import('../../docs/client/manual-index.ts')).load(),
    staleTime: Infinity,
    retry: false,
  })
  const words = useSettled(text.trim(), TYPING_MS)
  return useMemo(() => {
    if (!index.data || words.length < MIN_LETTERS) return []
    return index.data.find(words).slice(0, MAX_SECTIONS).map(sectionEntry)
  }, [index.data, words])
}

const TYPING_MS = 80

const sectionEntry = ({ href, title, page }: Section): Entry => ({
  name: title,
  kind: title === page ? 'Manual' : `Manual: ${page}`,
  icon: 'file-text',
  href,
})

/** Ids of requests in responses and logs. */
const RAY = /^[0-9a-f]{16}(-[A-Z]{3})?$/

interface Named {
  readonly id: string | number
  readonly name?: string
  readonly label?: string
  readonly description?: string
}

/** A list of objects that the search reads when it opens. */
interface Kind {
  readonly kind: string
  readonly icon: IconName
  readonly page: string
  /** Path below the account, and also below the zone if it `isOfZones`. */
  readonly path: string
  readonly isOfZones?: boolean
  /** Groups of permissions, one of which reads the list. */
  readonly needs: readonly string[]
  /** What the page calls an object. Its id if this is left out. */
  readonly keyOf?: (object: Named) => string
}

const KINDS: readonly Kind[] = [
  { kind: 'Worker', icon: 'zap', page: 'workers', path: '/workers/scripts', needs: ['Workers Scripts Read'] },
  { kind: 'Log job', icon: 'logs', page: 'logs', path: '/logpush/jobs', isOfZones: true, needs: ['Logs Read'] },
  {
    kind: 'Pipeline',
    icon: 'workflow',
    page: 'pipelines',
    path: '/edged/pipelines',
    needs: ['Logs Read'],
    keyOf: ({ id, name }) => name ?? String(id),
  },
  {
    kind: 'Webhook',
    icon: 'webhook',
    page: 'webhooks',
    path: '/data-security/posture/webhooks',
    needs: ['Zero Trust Read'],
  },
  { kind: 'List', icon: 'list', page: 'lists', path: '/rules/lists', needs: ['Account Filter Lists Read'] },
]

interface Ruleset {
  readonly id: string
  readonly kind: string
  readonly phase: string
  readonly rules?: readonly Named[]
}

/** The lists of objects and the rules of the zone, as entries. */
function useObjects(place: Place): readonly Entry[] {
  const { ofAccount, ofZone, zone, account, may } = place
  const mayRead = (needs: readonly string[]): boolean =>
    needs.some((group) => may(group) || may(group.replace(/Read$/, 'Write')))
  const reads = KINDS.filter(({ needs }) => mayRead(needs)).flatMap((kind) =>
    [ofAccount, ...(kind.isOfZones && zone ? [ofZone] : [])].map((owner) => ({ ...kind, path: owner + kind.path })),
  )
  const lists = useQueries({
    queries: reads.map(({ path }) => ({
      queryKey: [path, 'search'],
      queryFn: async () => await get<readonly Named[]>(path),
    })),
  })
  const rules = useQuery({
    queryKey: [`${ofZone}/rulesets`, 'search'],
    queryFn: async () => await rulesOf(ofZone),
    enabled: zone !== undefined,
  })
  const objects = lists.flatMap(({ data = [] }, at) => {
    const { kind, icon, page, keyOf } = reads[at]!
    return data.map((object): Entry => {
      const key = keyOf?.(object) ?? String(object.id)
      const name = object.name || object.label || object.description || key
      return { name, kind, icon, to: { scope: 'a', place: account.id, page, rest: [key] } }
    })
  })
  const found = (rules.data ?? []).map(({ phase, id, name }): Entry => ({
    name,
    kind: 'Rule',
    icon: 'shield',
    to: { page: 'rules', rest: [phase, id] },
  }))
  return [...found, ...objects]
}

/** Reads the rules of the phases of a zone. A token that may not read a phase finds none of its rules. */
async function rulesOf(ofZone: string): Promise<{ phase: string; id: string; name: string }[]> {
  const all = await get<readonly Ruleset[]>(`${ofZone}/rulesets`).catch(() => [])
  const own = all.filter(({ kind }) => kind === 'zone')
  const read = await Promise.all(
    own.map(async ({ id }) => await get<Ruleset>(`${ofZone}/rulesets/${id}`).catch(() => undefined)),
  )
  return read.flatMap((ruleset) =>
    (ruleset?.rules ?? []).map(({ id, description }) => ({
      phase: ruleset!.phase,
      id: String(id),
      name: description || String(id),
    })),
  )
}

/** Things that people start, by the page whose sheet does them. */
const ACTIONS: readonly { readonly name: string; readonly page: string; readonly rest: readonly string[] }[] = [
  { name: 'New rule', page: 'rules', rest: ['http_request_firewall_custom', 'new'] },
  { name: 'Purge the cache', page: 'cache', rest: [] },
  { name: 'New log job', page: 'logs', rest: ['new'] },
  { name: 'New webhook', page: 'webhooks', rest: ['new'] },
  { name: 'Add zone', page: 'zones', rest: ['new'] },
  { name: 'New token', page: 'tokens', rest: ['new'] },
]

/** Results that are shown. */
const MAX_SHOWN = 12

/** Returns the first things with a text in their name, then sections of the manual. Lists are read when the search opens. */
export function usePaletteEntries(place: Place, text: string): readonly Entry[] {
  const zones = useZones()
  const objects = useObjects(place)
  const sections = useManual(text)
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
  const pages = pagesOf(place)
  const toPage = ({ scope, path }: PageRow, rest: readonly string[] = []): To =>
    scope === (place.zone ? 'z' : 'a') ? { page: path, rest } : { scope, place: place.account.id, page: path, rest }
  const all: readonly Entry[] = [
    ...pages.map((page): Entry => ({ name: page.title, kind: 'Page', icon: page.icon, to: toPage(page) })),
    ...(zones.value ?? []).map(({ name }): Entry => ({
      name,
      kind: 'Zone',
      icon: 'globe',
      to: { scope: 'z', place: name },
    })),
    ...objects,
    ...ACTIONS.flatMap(({ name, page: path, rest }): readonly Entry[] => {
      const page = pages.find((one) => one.path === path)
      return page ? [{ name, kind: 'Action', icon: 'plus', to: toPage(page, rest) }] : []
    }),
    { name: 'Documentation', kind: 'Manual', icon: 'circle-help', href: '/docs/' },
  ]
  const found = all.filter(({ name, kind }) => `${name} ${kind}`.toLowerCase().includes(wanted))
  return [...found.slice(0, MAX_SHOWN - sections.length), ...sections]
}
