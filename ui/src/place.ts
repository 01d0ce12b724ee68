import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { sendWhole } from './api.ts'
import { PER_PAGE } from './hooks.ts'
import type { Matches } from './picker.tsx'

export interface Account {
  readonly id: string
  readonly name: string
}
export interface Zone {
  readonly id: string
  readonly name: string
  readonly account: Account
}

/** The account and zone that the pages are about. */
export interface Place {
  readonly account: Account
  readonly zone: Zone | undefined
}

export const PlaceContext = createContext<Place | undefined>(undefined)

/** Returns the chosen account and zone, with the beginnings of their paths. */
export function usePlace() {
  const place = useContext(PlaceContext)!
  return {
    ...place,
    ofAccount: `/accounts/${place.account.id}`,
    ofZone: place.zone && `/zones/${place.zone.id}`,
  }
}

async function pageOf<T>(path: string): Promise<Matches<T>> {
  const { result: items, result_info: info } = await sendWhole<readonly T[]>('GET', path)
  return { items, total: info?.total_count ?? items.length }
}

/** Returns a page of the zones of an account whose name contains a text. */
export async function findZones(account: Account, text: string, page: number): Promise<Matches<Zone>> {
  const filter = text.trim() === '' ? '' : `&name=${encodeURIComponent(`contains:${text.trim()}`)}`
  const path = `/zones?account.id=${account.id}&order=name&page=${page}&per_page=${PER_PAGE}${filter}`
  return await pageOf<Zone>(path)
}

/** How long a list of all accounts serves further searches. */
const ACCOUNTS_MS = 30_000
let all: { readonly until: number; readonly accounts: Promise<readonly Account[]> } | undefined

/** Returns a page of the accounts whose name contains a text. The API cannot search them. */
export async function findAccounts(text: string, page: number): Promise<Matches<Account>> {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return await pageOf<Account>(`/accounts?page=${page}&per_page=${PER_PAGE}`)
  if (!all || all.until < Date.now()) all = { until: Date.now() + ACCOUNTS_MS, accounts: everyAccount() }
  const accounts = await all.accounts.catch((error: unknown) => {
    all = undefined
    throw error
  })
  const items = accounts.filter(({ name, id }) => name.toLowerCase().includes(wanted) || id === wanted)
  return { items: items.slice((page - 1) * PER_PAGE, page * PER_PAGE), total: items.length }
}

async function everyAccount(): Promise<readonly Account[]> {
  const accounts: Account[] = []
  for (let page = 1; ; page += 1) {
    const { items, total } = await pageOf<Account>(`/accounts?page=${page}&per_page=${PER_PAGE}`)
    accounts.push(...items)
    if (items.length === 0 || accounts.length >= total) return accounts
  }
}
