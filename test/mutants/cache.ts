import { of, type Mutant } from './mutant.js'

/** Guards of the stored responses of the cache. */
export const CACHE: readonly Mutant[] = [
  ...of('src/edge/cache/lookup.ts', 'test/edge/cache/hostile.test.ts', [
    `if (known?.headers === headers && sameNames(known.names, vary)) return known.key`,
    '',
  ]),
  ...of(
    'src/edge/cache/ranged-lookup.ts',
    'test/edge/cache/parts.test.ts',
    [`extent?.etag === this.#extent.etag && `, ''],
    [`if (extent) this.#leading?.discard()`, ''],
  ),
  ...of('src/edge/cache/parts/part-response.ts', 'test/edge/cache/parts.test.ts', [
    `else if (status === 200 || status === 206) this`,
    'else if (status === 206) this',
  ]),
  ...of(
    'src/edge/cache/entries/policy.ts',
    'test/edge/cache/hostile.test.ts',
    [`if (terms.authorization && !forAuthorized) return`, 'if (false) return'],
    [`if (!omitted.has('set-cookie') && headerOf(headers, 'set-cookie') !== undefined) return`, 'if (false) return'],
    [`if (unqualified(directives, 'private')) return`, 'if (false) return'],
    [`cache_deception_armor !== false &&`, 'cache_deception_armor === true &&'],
  ),
  ...of('src/edge/cache/entries/extensions.ts', 'test/edge/cache/hostile.test.ts', [`PAGE.test(type) || `, '']),
  ...of(
    'src/edge/cache/delivery/query.ts',
    'test/edge/cache/query.test.ts',
    [`[hash, bytes.length, ...described]`, `[hash]`],
    [`createHash('sha256').update(bytes)`, `createHash('sha256')`],
    [`[-_]`, `-`],
  ),
  ...of(
    'src/edge/cache/delivery/request.ts',
    'test/edge/cache/hostile.test.ts',
    [`const lower = hyphenedName(name)`, 'const lower = name.toLowerCase()'],
    [`PREFIXES.some((prefix) => lower.startsWith(prefix))`, 'false'],
    [`'authorization',\n  'base-url',`, `'authorization',`],
    [`'cf-visitor',\n  'cloudfront-forwarded-proto',\n  'origin',`, `'origin',`],
    [`exchange.unread?.some(mayBeRead) === false ?`, 'exchange.unread ?'],
  ),
  ...of(
    'src/edge/cache/key.ts',
    'test/edge/cache/hosts.test.ts',
    [`if (request !== PLAIN_REQUEST && request.forwardedHost !== host)`, 'if (false)'],
    [`if (exchange.decisions.route?.host_header !== undefined && !custom?.host?.resolved)`, 'if (false)'],
  ),
  ...of('src/edge/serve/arrived-exchange.ts', 'test/edge/cache/hosts.test.ts', [
    `const host = normalHostField(fields.host ?? '', scheme)`,
    `const host = fields.host ?? ''`,
  ]),
]
