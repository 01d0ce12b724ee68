import t from 'tap'
import { normalTarget } from '../../../src/edge/exchange/normal-path.js'

const CASES: [target: string, cloudflare: string, rfc3986?: string][] = [
  ['/hello', '/hello'],
  ['/%68ello', '/hello'],
  ['/%68ello//pa\\th', '/hello/pa/th', '/hello//pa%5Cth'],
  ['/a%2fb%3a', '/a%2Fb%3A'],
  ['/%7euser/%2D%2e%5F', '/~user/-._'],
  ['/a/./b/../c', '/a/c'],
  ['/a/%2e%2E/admin', '/admin'],
  ['/../../x/..', '/'],
  ['/a/b/.', '/a/b/'],
  ['/.well-known/x', '/.well-known/x'],
  ['/..x/y..', '/..x/y..'],
  ['/ü"<>^`{|}', '/%FC%22%3C%3E%5E%60%7B%7C%7D'],
  ['/%252e', '/%252e'],
  ['/%zz%', '/%zz%'],
  ["/:?#[]@!$&'()*+,;=", "/:?#[]@!$&'()*+,;="],
  ['/a//b?q=%41//\\..', '/a/b?q=%41//\\..', '/a//b?q=%41//\\..'],
  ['*', '*'],
]

t.test('a path is normalized by RFC 3986, and its slashes for the type cloudflare', async (t) => {
  for (const [target, cloudflare, rfc3986 = cloudflare] of CASES) {
    t.equal(normalTarget(target, { scope: 'incoming', type: 'cloudflare' }), cloudflare, `cloudflare ${target}`)
    t.equal(normalTarget(target, { scope: 'incoming', type: 'rfc3986' }), rfc3986, `rfc3986 ${target}`)
  }
})

t.test('a normalized path does not change again', async (t) => {
  for (const type of ['cloudflare', 'rfc3986'] as const)
    for (const [target] of CASES) {
      const once = normalTarget(target, { scope: 'both', type })
      t.equal(normalTarget(once, { scope: 'both', type }), once, `${type} ${target}`)
    }
})
