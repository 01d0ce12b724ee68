import t, { type Test } from 'tap'
import { endpoints } from '../../../../control/index.js'
import { routes } from '../../../../control/http/server/app.js'
import { postureClient } from '../../webhooks/helper.js'

/** Returns a router with every endpoint of the API. */
async function everyRoute(t: Test): Promise<ReturnType<typeof routes>> {
  const { deps } = await postureClient(t)
  const services = () => {
    throw new Error('nothing is called')
  }
  const all = endpoints({
    ...deps,
    logpush: services,
    posture: services,
    workers: services,
    overview: services,
    requests: services,
  })
  return routes(all, deps)
}

t.test('a path matches the same routes as if it was compared with all of them', async (t) => {
  const router = await everyRoute(t)
  const every = (path: string, method: string) =>
    (Object.getPrototypeOf(router) as typeof router).match.call(router, path, method)
  const paths = new Set<string>([
    '/',
    '',
    '/client/v4',
    '/client/v4/',
    '/client/v4//zones',
    '/client/v5/zones',
    '*',
    '/a:b/c',
  ])
  for (const { path } of router.stack) {
    const filled = String(path).replaceAll(/[:*](\w+)/g, (_all, name: string) => `${name}-1`)
    const encoded = String(path).replaceAll(/[:*]\w+/g, 'a%2Fb%20:c*{d}')
    const below = `${filled}/further`
    for (const one of [
      filled,
      encoded,
      below,
      String(path),
      filled.toUpperCase(),
      filled.replace('/zones', '/%7Aones'),
    ])
      paths.add(one).add(`${one}/`).add(`${one}//`)
    paths.add(filled.slice(0, filled.lastIndexOf('/')))
  }
  t.ok(router.stack.length > 300 && paths.size > 3000, `${router.stack.length} routes, ${paths.size} paths`)
  let found = 0
  const wrong: string[] = []
  for (const path of paths)
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'get', 'PURGE']) {
      const [ours, theirs] = [router.match(path, method), every(path, method)]
      found += Number(theirs.route)
      const isSame =
        ours.route === theirs.route &&
        [ours.path, ours.pathAndMethod].every((layers, of) => {
          const others = of === 0 ? theirs.path : theirs.pathAndMethod
          return layers.length === others.length && layers.every((layer, at) => layer === others[at])
        })
      if (!isSame) wrong.push(`${method} ${path}`)
    }
  t.strictSame(wrong, [])
  t.ok(found > 500, `${found} requests have a route`)
})

t.test('a path is compared with few routes', async (t) => {
  const router = await everyRoute(t)
  router.match('/client/v4/zones/1/rulesets/2', 'GET')
  let compared = 0
  for (const layer of router.stack) {
    const { match } = layer
    layer.match = (path) => {
      compared++
      return match.call(layer, path)
    }
  }
  t.ok(router.match('/client/v4/zones/1/rulesets/2', 'GET').route)
  t.ok(compared > 0 && compared < router.stack.length / 10, `${compared} of ${router.stack.length}`)
})
