import { Link, useLocation, useNavigate } from '@tanstack/react-router'
import type { MouseEventHandler, ReactNode } from 'react'

/** The search parameters of an address, as texts. */
export type Search = Readonly<Record<string, string | undefined>>

/** What an address below `/ui/` names: `/ui/z/ZONE/PAGE/OBJECT...` or `/ui/a/ACCOUNT/PAGE/OBJECT...`. */
export interface Address {
  readonly scope: 'z' | 'a'
  /** Name or id of the zone or account. */
  readonly place: string
  readonly page: string
  /** What follows the page: the open object, its tab. */
  readonly rest: readonly string[]
  readonly search: Search
}

/** Part of an address. What is left out is taken from the current one, but for `rest` and `search`. */
export type To = Partial<Address>

export function useAddress(): Address {
  const { pathname, search } = useLocation()
  const parts = pathname.split('/').filter((part) => part !== '')
  const [scope = 'z', place = '', page = '', ...rest] = parts.map(decoded)
  return { scope: scope === 'a' ? 'a' : 'z', place, page, rest, search: search as Search }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Returns the path of an address, without `/ui` and without its search. */
export function pathOf({ scope, place, page, rest }: Omit<Address, 'search'>): string {
  const parts = [scope, place, page, ...rest].filter((part) => part !== '')
  return `/${parts.map((part) => encodeURIComponent(part)).join('/')}`
}

/** Range of times: it goes along to each page. */
const KEPT = ['range', 'since', 'until']

function searchFor(to: To, from: Address): Search {
  const kept = Object.fromEntries(KEPT.flatMap((name) => (from.search[name] ? [[name, from.search[name]]] : [])))
  return { ...kept, ...to.search }
}

/** Returns a function that goes to an address. `replace`: Back does not return to the current one. */
export function useGo(): (to: To, options?: { replace?: boolean }) => void {
  const navigate = useNavigate()
  const from = useAddress()
  return (to, { replace = false } = {}) => {
    const path = pathOf({ ...from, rest: [], ...to })
    void navigate({ to: path, search: searchFor(to, from), replace })
  }
}

/** A link to an address. */
export function To({
  to,
  children,
  ...rest
}: {
  to: To
  children: ReactNode
  className?: string | undefined
  title?: string
  onClick?: MouseEventHandler
  'aria-current'?: 'page' | undefined
  'aria-label'?: string
}) {
  const from = useAddress()
  return (
    <Link {...(rest as object)} to={pathOf({ ...from, rest: [], ...to })} search={searchFor(to, from)} preload={false}>
      {children}
    </Link>
  )
}

/**
 * Returns one parameter of the address and a function that sets it. The fallback is not written to the address. Typing does
 * not fill the history: the entry is replaced.
 */
export function useParam(name: string, fallback = ''): [value: string, set: (value: string | undefined) => void] {
  const address = useAddress()
  const navigate = useNavigate()
  const set = (value: string | undefined): void => {
    const search = { ...address.search, [name]: value === fallback || value === '' ? undefined : value }
    void navigate({ to: pathOf(address), search, replace: true })
  }
  return [address.search[name] ?? fallback, set]
}
