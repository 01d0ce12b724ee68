import { Type, type Static } from 'typebox'
import type { Issue } from '../core/errors.js'
import { listType } from './list-type.js'
import { Redirect, RedirectTable, sourceOf } from './redirect-table.js'

/** Maximum number of slashes in the path of a source that matches all paths below it. */
const MAX_SLASHES = 16

const Item = Type.Object({ redirect: Redirect })

function issues({ redirect: { source_url, target_url, subpath_matching } }: Static<typeof Item>): Issue[] {
  const found: Issue[] = []
  const source = sourceOf(source_url)
  const at = '/redirect/source_url'
  if (typeof source === 'string') found.push({ pointer: at, message: source })
  else if (subpath_matching && source.path.split('/').length - 1 > MAX_SLASHES)
    found.push({ pointer: at, message: `has more than ${MAX_SLASHES} slashes in its path, with subpath_matching` })
  if (!/^https?:\/\/[^/?#]/i.test(target_url) || /[\s\p{Cc}]/u.test(target_url) || !URL.canParse(target_url))
    found.push({ pointer: '/redirect/target_url', message: 'must be an http or https URL without spaces' })
  return found
}

/** Redirects from URLs to URLs. */
export const redirect = listType<Static<typeof Item>>({
  kind: 'redirect',
  member: 'redirect',
  shape: Item,
  short: () => undefined,
  issues,
  key({ redirect: { source_url } }) {
    const source = sourceOf(source_url)
    if (typeof source === 'string') throw new TypeError(`${source_url} ${source}`)
    return `${source.scheme ?? ''}//${source.host}${source.path}`
  },
  found({ redirect: { source_url, target_url } }, search) {
    const wanted = search.toLowerCase()
    return source_url.toLowerCase().includes(wanted) || target_url.toLowerCase().includes(wanted)
  },
  table() {
    const table = new RedirectTable()
    return {
      add: ({ redirect }) => table.add(redirect),
      remove: ({ redirect }) => table.remove(redirect),
      find: (url) => table.find(url),
    }
  },
})
