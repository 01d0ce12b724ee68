import { createRootRoute, createRoute, createRouter, redirect } from '@tanstack/react-router'
import { earlierOf } from './earlier.ts'
import { Home } from './home.tsx'
import { Shell } from './shell.tsx'

/** Parameters stay texts, as people read and write them in addresses. */
const parseSearch = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text))

function stringifySearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

const root = createRootRoute({
  beforeLoad: ({ location }) => {
    const earlier = earlierOf(location.hash)
    if (earlier?.place) throw redirect({ to: `${earlier.place}/${earlier.page}`, hash: '', replace: true })
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
