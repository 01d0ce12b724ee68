import { createRootRoute, createRoute, createRouter, redirect } from '@tanstack/react-router'
import { Home } from './home.tsx'
import { Shell } from './shell.tsx'

/** Parameters stay texts, as people read and write them in addresses. */
const parseSearch = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text))

function stringifySearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

/** Pages by their earlier addresses behind `#`. */
const EARLIER: Readonly<Record<string, string>> = {
  rulesets: 'rules',
  logpush: 'logs',
  'log-push': 'logs',
  zone: 'settings',
  try: 'markdown',
  'try-it': 'markdown',
}

/** Returns the path of an earlier address, for example `#/rulesets?zone=ID`, or undefined. */
export function pathOfHash(hash: string): string | undefined {
  const [, page = '', query = ''] = /^#\/([\w-]*)(?:\?(.*))?$/.exec(hash) ?? []
  if (!hash.startsWith('#/')) return undefined
  const names = new URLSearchParams(query)
  const zone = names.get('zone')
  const account = names.get('account')
  const place = zone ? `/z/${zone}` : account ? `/a/${account}` : undefined
  return place && `${place}/${EARLIER[page] ?? (page || 'overview')}`
}

const root = createRootRoute({
  beforeLoad: ({ location }) => {
    const path = pathOfHash(location.hash === '' ? '' : `#${location.hash}`)
    if (path) throw redirect({ to: path, replace: true })
  },
})
const home = createRoute({ getParentRoute: () => root, path: '/', component: Home })
// One route for all pages: the shell stays where it is when the page changes.
const shell = createRoute({ getParentRoute: () => root, path: '$', component: Shell })

export const makeRouter = () =>
  createRouter({
    routeTree: root.addChildren([home, shell]),
    basepath: '/ui',
    parseSearch,
    stringifySearch,
    defaultNotFoundComponent: Home,
    scrollRestoration: false,
  })
