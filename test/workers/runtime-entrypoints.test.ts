import t from 'tap'
import { SKIP, workersDaemon } from './runtime-helper.js'

const skip = { skip: SKIP }

const TARGET = `import { DurableObject, WorkerEntrypoint } from 'cloudflare:workers'
export class Admin extends WorkerEntrypoint { add(a, b) { return a + b } }
export class Counter extends DurableObject {}
export default { fetch() { return new Response('default') } }`
const WITHOUT = `export default { fetch() { return new Response('default without entrypoints') } }`
const APP = `const error = (call) => call.then((value) => value, ({ message }) => message)
const calls = {
  add: (env) => error(env.ADMIN.add(1, 2)),
  fetch: (env) => error(env.ADMIN.fetch('http://target/')),
  target: async (env) => await (await env.TARGET.fetch('http://target/')).text(),
}
export default {
  async fetch(request, env) { return Response.json(await calls[new URL(request.url).pathname.slice(1)](env)) },
}`
const BINDINGS = [
  { name: 'ADMIN', type: 'service', service: 'target', entrypoint: 'Admin' },
  { name: 'TARGET', type: 'service', service: 'target', entrypoint: 'default' },
]

t.test('a binding to an entrypoint that does not exist is rejected at the upload', skip, async (t) => {
  const daemon = await workersDaemon(t)
  await daemon.upload('target', TARGET)
  for (const entrypoint of ['Absent', 'Counter', 'constructor']) {
    const bindings = [{ name: 'ADMIN', type: 'service', service: 'target', entrypoint }]
    const { status, body } = await daemon.tryUpload('app', APP, { bindings })
    t.match(
      [status, body.errors],
      [
        400,
        [
          {
            code: 10143,
            message: `could not resolve binding "ADMIN": the script "target" does not export the entrypoint "${entrypoint}"`,
            source: { pointer: '/bindings/0/entrypoint' },
          },
        ],
      ],
    )
  }
  t.equal((await daemon.api('GET', '/workers/scripts/app/settings')).status, 404, 'nothing is stored')
})

t.test('a script that binds its own entrypoint needs no earlier upload', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const code = `import { WorkerEntrypoint } from 'cloudflare:workers'
    export class Own extends WorkerEntrypoint { name() { return 'own' } }
    export default { async fetch(request, env) { return new Response(await env.OWN.name()) } }`
  const binding = (entrypoint: string) => [{ name: 'OWN', type: 'service', service: 'app', entrypoint }]
  t.match((await daemon.tryUpload('app', code, { bindings: binding('Other') })).body.errors, [{ code: 10143 }])
  await daemon.upload('app', code, { bindings: binding('Own') })
  await daemon.domain('app')
  t.equal((await daemon.get('app.example.test')).text, 'own')
})

t.test('a script runs on when the target of a binding is uploaded without the entrypoint', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const call = async (name: string) => JSON.parse((await daemon.get('app.example.test', `/${name}`)).text) as unknown
  await daemon.upload('app', APP, { bindings: BINDINGS })
  await daemon.domain('app')
  t.equal(await call('add'), 'no such service: the script target of this binding does not exist or does not run')
  await daemon.upload('target', TARGET)
  t.equal(await call('add'), 3)
  t.equal(await call('target'), 'default', 'the entrypoint default is the default export')

  const { messages } = await daemon.upload('target', WITHOUT)
  const lost = 'the script app has a binding to the entrypoint Admin, which this version does not export'
  t.match(messages, [{ code: 10000, message: lost }])
  const failure = 'no such entrypoint: the script target of this binding does not export Admin'
  t.equal(await call('add'), failure)
  t.equal(await call('fetch'), failure)
  t.equal(await call('target'), 'default without entrypoints')
  const settings = await daemon.api('PUT', '/workers/scripts/app/secrets', {
    name: 'S',
    text: 's',
    type: 'secret_text',
  })
  t.equal(settings.status, 200, 'other changes of the script are accepted')
  t.equal(await call('add'), failure)
  await daemon.restart()
  t.equal(await call('target'), 'default without entrypoints')

  await daemon.upload('target', TARGET)
  t.equal(await call('add'), 3)
})

t.test('the same is true for a target in another process', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const migrations = { new_tag: 'v1', new_sqlite_classes: ['Counter'] }
  await daemon.upload('target', TARGET, { migrations })
  await daemon.upload('app', APP, { bindings: BINDINGS })
  await daemon.domain('app')
  const call = async (name: string) => JSON.parse((await daemon.get('app.example.test', `/${name}`)).text) as unknown
  t.equal(await call('add'), 3)
  await daemon.upload('target', TARGET.replace('class Admin', 'class Manager'))
  t.equal(await call('add'), 'no such entrypoint: the script target of this binding does not export Admin')
  t.equal(await call('target'), 'default')
})
