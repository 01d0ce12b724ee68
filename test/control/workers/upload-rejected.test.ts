import t from 'tap'
import { PART_TYPES } from '../../../src/workers/upload/form.js'
import { WORKER_SCRIPTS } from '../../../src/core/model/worker.js'
import { ADMIN, type TestResponse } from '../client.js'
import { BAD_METADATA } from './bad-uploads.js'
import {
  BOUNDARY,
  ESM,
  form,
  metadataPart,
  modulePart,
  PLAIN,
  SCOPE,
  SCRIPTS,
  uploader,
  type Part,
} from './upload-helper.js'

const errorsOf = ({ body }: TestResponse): [number, string | undefined][] =>
  (body.errors as { code: number; source?: { pointer: string } }[]).map(({ code, source }) => [code, source?.pointer])

t.test('metadata that does not fit is refused, with codes and pointers', async (t) => {
  const api = await uploader(t)
  for (const [what, metadata, ...errors] of BAD_METADATA) {
    const response = await api.upload('w', metadata)
    t.equal(response.status, 400, `${what}: ${JSON.stringify(response.body.errors)}`)
    t.same(errorsOf(response), errors, what)
  }
  t.equal(api.store.count(WORKER_SCRIPTS, SCOPE), 0, 'nothing was stored')
})

t.test('codes beside pointers: what only a second upload can show', async (t) => {
  const api = await uploader(t)
  const room = `import { DurableObject } from 'cloudflare:workers'\nexport class Room extends DurableObject {}\n${PLAIN}`
  const binding = { name: 'ROOM', type: 'durable_object_namespace', class_name: 'Room' }
  t.equal(
    (await api.upload('w', { migrations: { new_tag: 'v1', new_sqlite_classes: ['Room'] }, bindings: [binding] }, room))
      .status,
    200,
  )
  t.same(errorsOf(await api.upload('w', {})), [[10064, undefined]], 'the class is gone from the code')
  const gone = { old_tag: 'v1', new_tag: 'v2', deleted_classes: ['Room'] }
  t.same(errorsOf(await api.upload('w', { migrations: gone, bindings: [binding] })), [
    [10061, '/bindings/0/class_name'],
  ])
  t.equal((await api.upload('w', { migrations: gone })).body.result.migration_tag, 'v2')
  t.same(errorsOf(await api.upload('w', { migrations: gone })), [[10079, '/migrations/old_tag']])

  const exports = { Room: { type: 'durable-object', storage: 'sqlite' } }
  const made = await api.upload('x', { exports, bindings: [binding] }, room)
  t.same(made.body.result.exports, { Room: { ...exports.Room, state: 'created' } })
  t.match(made.body.result, {
    exports_reconciliation: { created: ['Room'], warnings: [], removable_entries: [] },
  })
  t.same(errorsOf(await api.upload('x', { migrations: { new_tag: 'v1' } }, room)), [[10021, '/migrations']])
  const missing = await api.upload('x', {}, room)
  t.match(missing, {
    status: 400,
    body: {
      errors: [
        {
          code: 100402,
          meta: {
            details: [
              { class: 'Room', scenario: 'provisioned_class_missing_from_config', namespace_id: /^[0-9a-f]{32}$/ },
            ],
          },
        },
      ],
    },
  })
  await api.upload('y', { bindings: [{ ...binding, script_name: 'x' }] })
  const deleted = { exports: { Room: { type: 'durable-object', state: 'deleted' } } }
  t.match((await api.upload('x', deleted)).body.errors, [
    { code: 100402, source: { pointer: '/exports/Room' }, meta: { details: [{ referencing_scripts: ['y'] }] } },
  ])
  await api.upload('y', {})
  const done = await api.upload('x', deleted)
  t.match(done.body.result, { exports_reconciliation: { deleted: ['Room'] } })
  t.same(done.body.result.exports, {}, 'tombstones are left out')
})

t.test('a class moves from one script to another in two phases', async (t) => {
  const api = await uploader(t)
  const room = `import { DurableObject } from 'cloudflare:workers'\nexport class Room extends DurableObject {}\n${PLAIN}`
  const entry = (change: object) => ({ exports: { Room: { type: 'durable-object', ...change } } })
  await api.upload('src', entry({ storage: 'sqlite' }), room)
  t.same(errorsOf(await api.upload('src', entry({ state: 'transferred', transferred_to: 'dst' }))), [
    [100402, '/exports/Room'],
  ])
  const waits = await api.upload(
    'dst',
    entry({ state: 'expecting-transfer', storage: 'sqlite', transfer_from: 'src' }),
    room,
  )
  t.match(waits.body.result, {
    exports: { Room: { state: 'expecting-transfer' } },
    exports_reconciliation: { transfer_pending: [{ class: 'Room', from: 'src' }] },
  })
  const handed = await api.upload('src', entry({ state: 'transferred', transferred_to: 'dst' }))
  t.match(handed.body.result.exports_reconciliation, {
    transferred: [{ class: 'Room', to: 'dst', phase: 'committed' }],
  })
  const resolved = await api.upload('dst', entry({ storage: 'sqlite' }), room)
  t.match(resolved.body.result.exports_reconciliation, {
    created: [],
    info: [{ scenario: 'transfer_receive_cleanup_complete' }],
  })
})

const main = modulePart('w.js', PLAIN)
/** More than what is parsed in one piece. */
const LONG = 70_000
const WIDE = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`m${n}`, n]))
const FORMS: readonly (readonly [what: string, parts: readonly Part[], message: RegExp, pointer?: string])[] = [
  ['no parts', [], /metadata is missing|could not be read/],
  ['no metadata', [main], /metadata is missing/],
  ['metadata twice', [metadataPart({}), metadataPart({}), main], /given twice/],
  [
    'metadata in both forms',
    [metadataPart({}), { name: 'metadata[main_module]', body: 'w.js' }, main],
    /both as a text and as fields/,
  ],
  ['metadata that is no JSON', [metadataPart('{'), main], /is not JSON/],
  ['metadata that is no object', [metadataPart('[]'), main], /must be a JSON object/],
  ['metadata that is null', [metadataPart('null'), main], /must be a JSON object/],
  ['metadata that is no UTF-8', [{ name: 'metadata', body: Uint8Array.of(0x7b, 0xff, 0x7d) }, main], /is not UTF-8/],
  ['long metadata that is no JSON', [metadataPart(`{${' '.repeat(LONG)}`), main], /is not JSON/],
  ['long metadata that is no UTF-8', [{ name: 'metadata', body: Buffer.alloc(LONG, 0xff) }, main], /is not UTF-8/],
  ['metadata with too many members', [metadataPart(WIDE), main], /metadata has more than 10000 members/],
  [
    'long metadata without the main module',
    [metadataPart({ main_module: 'x.js', filler: 'x'.repeat(LONG) }), main],
    /is not an uploaded part/,
    '/main_module',
  ],
  ['no module', [metadataPart({})], /has no module/],
  [
    'a main module that is no part',
    [metadataPart({ main_module: 'x.js' }), main],
    /is not an uploaded part/,
    '/main_module',
  ],
  ['a script that is no part', [metadataPart({ body_part: 'x.js' }), main], /is not an uploaded part/, '/body_part'],
  [
    'both kinds of main',
    [metadataPart({ main_module: 'w.js', body_part: 'w.js' }), main],
    /does not go with main_module/,
    '/body_part',
  ],
  ['two modules and no main', [metadataPart({}), main, modulePart('v.js', PLAIN)], /is required/, '/main_module'],
  ['only a text', [metadataPart({}), modulePart('a.txt', 'a', 'text/plain')], /is required/, '/main_module'],
  ['a module as a script', [metadataPart({ body_part: 'w.js' }), main], /content type/, '/body_part'],
  [
    'a script as a module',
    [metadataPart({ main_module: 'w.js' }), modulePart('w.js', '', 'text/javascript')],
    /content type/,
    '/main_module',
  ],
  [
    'a main module of WebAssembly',
    [metadataPart({ main_module: 'w' }), modulePart('w', '', 'application/wasm')],
    /content type/,
    '/main_module',
  ],
  ['an unknown content type', [metadataPart({}), modulePart('w.js', '', 'text/html')], /content type "text\/html"/],
  [
    'JSON as a module',
    [metadataPart({ main_module: 'w.js' }), main, modulePart('a.json', '{}', 'application/json')],
    /content type/,
  ],
  ['a path that leads out', [metadataPart({}), modulePart('../w.js', PLAIN)], /not a path inside/],
  ['an absolute path', [metadataPart({}), modulePart('/etc/passwd', PLAIN)], /not a path inside/],
  ['a folder', [metadataPart({}), modulePart('a/', PLAIN)], /not a path inside/],
  [
    'one path in two ways',
    [metadataPart({ main_module: 'w.js' }), main, modulePart('./w.js', PLAIN)],
    /two parts have the name/,
  ],
  [
    'wrong syntax',
    [metadataPart({}), modulePart('w.js', 'export default {\n  fetch( { }\n}')],
    /SyntaxError: .* at w\.js:3:1/,
  ],
  [
    'wrong syntax in another module',
    [metadataPart({ main_module: 'w.js' }), main, modulePart('v.js', 'let let')],
    /SyntaxError: .* at v\.js:1:5/,
  ],
  ['an import of nothing', [metadataPart({}), modulePart('w.js', 'import "./gone.js"')], /No such module ".\/gone.js"/],
  ['an import from outside', [metadataPart({}), modulePart('w.js', 'import "../gone.js"')], /No such module/],
  ['code nested without end', [metadataPart({}), modulePart('w.js', '['.repeat(200_000))], /SyntaxError/],
  ['a field that is none', [{ name: 'metadata[a]b', body: 'x' }, main], /is not a field/],
  [
    'a field in two forms',
    [{ name: 'metadata[tags][]', body: 'x' }, { name: 'metadata[tags][x]', body: 'x' }, main],
    /in two forms/,
  ],
  ['a field twice', [{ name: 'metadata[a]', body: 'x' }, { name: 'metadata[a]', body: 'x' }, main], /given twice/],
  ['a field of a prototype', [{ name: 'metadata[__proto__][x]', body: 'x' }, main], /not a member/, '/__proto__'],
]

t.test('forms that cannot be what was meant are refused', async (t) => {
  const api = await uploader(t)
  for (const [what, parts, message, pointer] of FORMS) {
    const response = await api.send('w', parts)
    t.equal(response.status, 400, what)
    t.match(response.body.errors[0], { message, ...(pointer !== undefined && { source: { pointer } }) }, what)
  }
  t.equal(api.store.count(WORKER_SCRIPTS, SCOPE), 0)
})

t.test('every content type of a part is taken', async (t) => {
  const api = await uploader(t)
  const parts = PART_TYPES.map((type, index) => modulePart(`p${index}`, type.endsWith('+module') ? PLAIN : 'x', type))
  t.equal((await api.send('w', [metadataPart({ main_module: 'p0' }), ...parts])).status, 200)
})

t.test('a form is recognized by its first line if the header does not name it', async (t) => {
  const api = await uploader(t)
  const good = [metadataPart({}), modulePart('w.js', PLAIN)]
  for (const type of ['application/javascript', 'multipart/form-data', 'text/plain', 'multipart/mixed; boundary=x'])
    t.equal((await api.send('w', good, { headers: { 'content-type': type } })).status, 200, type)
  const raw = async (body: string | Buffer, type: string) => {
    const response = await fetch(`${api.url}${SCRIPTS}/w`, {
      method: 'PUT',
      body,
      headers: { authorization: `Bearer ${ADMIN}`, 'content-type': type },
    })
    return [response.status, ((await response.json()) as { errors: { code: number }[] }).errors[0]?.code]
  }
  t.same(await raw(PLAIN, 'application/javascript'), [415, 10415], 'a body that is no form')
  t.same(await raw(PLAIN, 'multipart/form-data'), [400, 10026])
  const coded = await api.send('w', good, { headers: { 'content-encoding': 'gzip' } })
  t.match(coded, { status: 415, body: { errors: [{ code: 10415 }] } }, 'a form with a content encoding')
  t.same(await raw('', 'multipart/form-data'), [400, 10026])
  t.same(await raw('--', 'multipart/form-data'), [400, 10026])
  t.same(
    await raw(form(good).subarray(0, -20), `multipart/form-data; boundary=${BOUNDARY}`),
    [400, 10026],
    'a form that ends early',
  )
  t.same(await raw(form(good), 'multipart/form-data; boundary=other'), [400, 10026], 'another boundary')
  t.same(
    await raw(form(good), 'multipart/form-data; boundary="a\\"b"'),
    [200, undefined],
    'a boundary that is none gives way to the first line',
  )
})

t.test('limits', async (t) => {
  const api = await uploader(t, {
    upload: { bytes: 40_000, module_bytes: 10_000, metadata_bytes: 5000, parts: 5, memory: 60_000 },
    quotas: { scripts: 1 },
  })
  const good = (size: number, ...more: Part[]) => [
    metadataPart({ main_module: 'w.js' }),
    modulePart('w.js', `//${'x'.repeat(size)}`),
    ...more,
  ]
  const outcome = async (parts: readonly Part[], name = 'w') => {
    const { status, body } = await api.send(name, parts)
    return [status, body.errors[0]?.code]
  }
  t.same(await outcome(good(9000)), [200, undefined])
  t.same(
    await outcome(good(9000, modulePart('m', 'x'.repeat(20_000), 'application/source-map'))),
    [200, undefined],
    'source maps do not count',
  )
  t.same(await outcome(good(10_000)), [413, 10027])
  t.same(await outcome(good(50_000)), [413, 10413])
  const chunked = await fetch(`${api.url}${SCRIPTS}/w`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${ADMIN}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    body: new Blob([form(good(50_000))]).stream(),
    duplex: 'half',
  })
  t.match([chunked.status, await chunked.json()], [413, { errors: [{ code: 10413 }] }], 'no Content-Length')
  t.same(await outcome([metadataPart({ x: 'y'.repeat(6000) }), modulePart('w.js', '')]), [400, 10021])
  t.same(
    await outcome(good(1, ...['a', 'b', 'c', 'd'].map((name) => modulePart(name, '', 'text/plain')))),
    [400, 10026],
  )
  t.same(await outcome(good(1), 'second'), [403, 10037])
  for (const name of ['Upper', '-a', 'a.b', 'a'.repeat(64)]) t.same(await outcome(good(1), name), [400, 10016], name)
  t.equal(api.engine.uploads.used, 0, 'all memory was given back')
  api.engine.uploads.limit = 100
  t.same(await outcome(good(1000)), [503, 20431])
  t.equal(api.engine.uploads.used, 0)
  t.equal(ESM, PART_TYPES[0])
})

t.test('a main module that is missing is reported together with the issues of the metadata', async (t) => {
  const api = await uploader(t)
  const wrong = { compatibility_date: 'soon', tags: 1 }
  const report = async (metadata: object) => {
    const response = await api.send('w', [metadataPart(metadata), main])
    return new Set(errorsOf(response).map(([, pointer]) => pointer))
  }
  t.same(await report({ ...wrong, main_module: 'x.js' }), new Set(['/compatibility_date', '/tags', '/main_module']))
  t.same(await report({ ...wrong, main_module: 'w.js' }), new Set(['/compatibility_date', '/tags']))
  t.same(await report({ ...wrong, main_module: 1 }), new Set(['/compatibility_date', '/tags', '/main_module']))
})
