import { Type, type Static } from 'typebox'
import { strict } from '../core/schema.js'
import { listType } from './list-type.js'

const Item = Type.Object({
  hostname: Type.Object(
    {
      url_hostname: Type.String({
        maxLength: 255,
        pattern:
          '^(\\*\\.)?([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$',
        description: 'A host name, or `*.` and a host name for every name below it.',
        'x-message': 'must be a host name of letters, digits and hyphens, with or without *. in front',
      }),
      exclude_exact_hostname: Type.Optional(
        Type.Boolean({ description: 'For `*.` names: false lets the name itself match too. Default: true.' }),
      ),
    },
    strict,
  ),
})

// A host name has at most 127 labels. A longer text is not a host name.
const MAX_CHUNK_BYTES = 255

/** Host names, ignoring case; `*.example.com` matches every name below `example.com`. */
export const hostname = listType<Static<typeof Item>>({
  kind: 'hostname',
  member: 'hostname',
  shape: Item,
  short: (value) => (typeof value === 'string' ? { hostname: { url_hostname: value } } : undefined),
  issues: ({ hostname: { url_hostname: name, exclude_exact_hostname: excludes } }) =>
    excludes !== undefined && !name.startsWith('*.')
      ? [{ pointer: '/hostname/exclude_exact_hostname', message: 'is for names that begin with *. only' }]
      : [],
  key: ({ hostname }) => hostname.url_hostname.toLowerCase(),
  found: ({ hostname }, search) => hostname.url_hostname.toLowerCase().includes(search.toLowerCase()),
  table() {
    const exact = new Set<string>()
    /** Names whose subdomains match, with whether they match themselves. */
    const parents = new Map<string, boolean>()
    return {
      add({ hostname: { url_hostname, exclude_exact_hostname: excludes = true } }) {
        const name = url_hostname.toLowerCase()
        if (name.startsWith('*.')) parents.set(name.slice(2), !excludes)
        else exact.add(name)
      },
      remove({ hostname: { url_hostname } }) {
        const name = url_hostname.toLowerCase()
        if (name.startsWith('*.')) parents.delete(name.slice(2))
        else exact.delete(name)
      },
      has(value) {
        const name = (value as string).toLowerCase()
        if (exact.has(name)) return true
        if (parents.size === 0 || name.length > MAX_CHUNK_BYTES) return false
        if (parents.get(name) === true) return true
        for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1))
          if (parents.has(name.slice(dot + 1))) return true
        return false
      },
    }
  },
})
