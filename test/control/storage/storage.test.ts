import Cloudflare, { toFile } from 'cloudflare'
import t, { type Test } from 'tap'
import { storage } from '../../../control/storage/index.js'
import { fileBlobs } from '../../../src/store/blobs/file-blobs.js'
import { KV_NAMESPACES, KV_VALUES } from '../../../src/core/model/storage.js'
import { account } from '../../../src/core/scope.js'
import { blobsOfValues, KeyValues } from '../../../src/workers/storage/key-values.js'
import { all } from '../../helpers/all.js'
import { ACCOUNT, ADMIN, client, handClock, type Client } from '../client.js'
import { refusesAll, type RefusedRow } from '../refused-rows.js'
import { testFolder } from '../../helpers/folder.js'

const KV = `/accounts/${ACCOUNT}/storage/kv/namespaces`
const R2 = `/accounts/${ACCOUNT}/r2/buckets`
const D1 = `/accounts/${ACCOUNT}/d1/database`
const inAccount = { account_id: ACCOUNT }

async function open(t: Test) {
  const clock = handClock()
  const blobs = fileBlobs(testFolder(t), clock)
  const api = await client(t, { clock, areas: (deps) => storage({ ...deps, blobs: () => blobs }) })
  const cf = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: api.url })
  return { ...api, blobs, cf }
}

async function namespace({ call }: Pick<Client, 'call'>, title = 'mine'): Promise<string> {
  return (await call('POST', KV, { title })).body.result.id as string
}

/** A request with a body as it is. */
const send = async (
  { url }: Client,
  method: string,
  path: string,
  body?: string | Uint8Array<ArrayBuffer> | FormData,
  headers = {},
) =>
  await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${ADMIN}`, ...headers },
    ...(body !== undefined && { body }),
  })

t.test('the official client makes, renames, lists and removes namespaces', async (t) => {
  const { cf } = await open(t)
  const { namespaces } = cf.kv
  const made = await namespaces.create({ ...inAccount, title: 'first' })
  t.match(made, { id: /^[0-9a-f]{32}$/, title: 'first', supports_url_encoding: true })
  await namespaces.create({ ...inAccount, title: 'second', jurisdiction: 'eu' })
  const listed = await all(namespaces.list({ ...inAccount, order: 'title', direction: 'desc', per_page: 1 }))
  t.match(listed, [{ title: 'second', jurisdiction: 'eu' }, { title: 'first' }])
  t.equal(listed.length, 2, 'the page after the last one is empty')
  t.match(await namespaces.update(made.id, { ...inAccount, title: 'other' }), { title: 'other' })
  t.match(await namespaces.get(made.id, inAccount), { title: 'other' })
  await namespaces.create({ ...inAccount, title: 'first' })
  await namespaces.delete(made.id, inAccount)
  await t.rejects(namespaces.get(made.id, inAccount), { status: 404, errors: [{ code: 10013 }] })
})

t.test('the official client stores, reads, lists and removes values', async (t) => {
  const { cf, clock } = await open(t)
  const { namespaces } = cf.kv
  const { id: namespace_id } = await namespaces.create({ ...inAccount, title: 'mine' })
  const place = { ...inAccount, namespace_id }
  await namespaces.values.update('a/b c?', { ...place, value: 'text', metadata: JSON.stringify({ tag: 1 }) })
  const bytes = Buffer.from([0, 255, 13, 10, 45, 45, 128])
  await namespaces.values.update('bytes', { ...place, value: await toFile(bytes, 'v.bin'), expiration_ttl: 60 })
  t.equal(await (await namespaces.values.get('a/b c?', place)).text(), 'text')
  const read = await namespaces.values.get('bytes', place)
  t.same(Buffer.from(await read.arrayBuffer()), bytes)
  t.equal(read.headers.get('expiration'), String(clock.now() / 1000 + 60))
  t.same(await namespaces.metadata.get('a/b c?', place), { tag: 1 })
  t.same(await all(namespaces.keys.list(namespace_id, inAccount)), [
    { name: 'a/b c?', metadata: { tag: 1 } },
    { name: 'bytes', expiration: clock.now() / 1000 + 60 },
  ])
  clock.advance(60_000)
  await t.rejects(namespaces.values.get('bytes', place), { status: 404, errors: [{ code: 10009 }] })
  t.same(
    (await all(namespaces.keys.list(namespace_id, inAccount))).map(({ name }) => name),
    ['a/b c?'],
  )
  await namespaces.values.delete('a/b c?', place)
  t.same(await all(namespaces.keys.list(namespace_id, inAccount)), [])
})

t.test('the official client stores, reads and removes many values at once', async (t) => {
  const { cf } = await open(t)
  const { namespaces } = cf.kv
  const { id } = await namespaces.create({ ...inAccount, title: 'mine' })
  const body = Array.from({ length: 25 }, (_, at) => ({
    key: `k${String(at).padStart(2, '0')}`,
    value: `{"at":${at}}`,
  }))
  t.match(await namespaces.keys.bulkUpdate(id, { ...inAccount, body }), { successful_key_count: 25 })
  const base64 = { key: '__proto__', value: Buffer.from('own').toString('base64'), base64: true, metadata: [1] }
  await namespaces.keys.bulkUpdate(id, { ...inAccount, body: [base64] })
  t.same(
    (await all(namespaces.keys.list(id, { ...inAccount, limit: 10, prefix: 'k' }))).map(({ name }) => name),
    body.map(({ key }) => key),
    'page by page',
  )
  t.match(await namespaces.keys.bulkGet(id, { ...inAccount, keys: ['k00', 'none'] }), {
    values: { k00: '{"at":0}', none: null },
  })
  t.match(await namespaces.keys.bulkGet(id, { ...inAccount, keys: ['k01'], type: 'json' }), {
    values: { k01: { at: 1 } },
  })
  const withMetadata = await namespaces.keys.bulkGet(id, { ...inAccount, keys: ['__proto__'], withMetadata: true })
  t.match(JSON.stringify(withMetadata), '{"values":{"__proto__":{"value":"own","metadata":[1]}}}')
  t.match(await namespaces.keys.bulkDelete(id, { ...inAccount, body: body.map(({ key }) => key) }), {
    successful_key_count: 25,
  })
  t.same(
    (await all(namespaces.keys.list(id, inAccount))).map(({ name }) => name),
    ['__proto__'],
  )
})

t.test('large values are read as text and as JSON in a bulk read', async (t) => {
  const { cf } = await open(t)
  const { namespaces } = cf.kv
  const { id } = await namespaces.create({ ...inAccount, title: 'mine' })
  const value = JSON.stringify({ text: 'é"'.repeat(60_000), list: Array.from({ length: 30_000 }, (_, at) => at) })
  const body = [
    { key: 'large', value },
    { key: 'broken', value: value.slice(0, -1) },
    { key: 'deep', value: '['.repeat(2000) + ']'.repeat(2000) },
  ]
  await namespaces.keys.bulkUpdate(id, { ...inAccount, body })
  const read = async (key: string, type: 'text' | 'json') =>
    await namespaces.keys.bulkGet(id, { ...inAccount, keys: [key], type })
  t.same(await read('large', 'text'), { values: { large: value } })
  t.same(await read('large', 'json'), { values: { large: JSON.parse(value) as unknown } })
  for (const key of ['broken', 'deep'])
    await t.rejects(read(key, 'json'), { status: 400, errors: [{ message: 'the value of the key is not JSON' }] })
})

t.test('large values are blobs, which are deleted with their namespace', async (t) => {
  const api = await open(t)
  const id = await namespace(api)
  const large = Buffer.alloc(100_000, 'x')
  t.equal((await send(api, 'PUT', `${KV}/${id}/values/large`, large)).status, 200)
  t.equal((await send(api, 'PUT', `${KV}/${id}/values/small`, Buffer.from('x'))).status, 200)
  t.equal([...blobsOfValues(api.store)].length, 1)
  const read = await send(api, 'GET', `${KV}/${id}/values/large`)
  t.equal(read.headers.get('content-type'), 'application/octet-stream')
  t.same(Buffer.from(await read.arrayBuffer()), large)
  t.equal((await api.call('DELETE', `${KV}/${id}`)).status, 200)
  t.same([...blobsOfValues(api.store)], [])
  t.same([api.store.count(KV_VALUES), api.store.count(KV_NAMESPACES, account(ACCOUNT))], [0, 0])
})

t.test('a value in a field of a form keeps its bytes', async (t) => {
  const api = await open(t)
  const id = await namespace(api)
  const path = `${KV}/${id}/values/k`
  const field = (name: string, bytes: Buffer) =>
    Buffer.concat([
      Buffer.from(`--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n`),
      bytes,
      Buffer.from('\r\n'),
    ])
  const value = Buffer.concat([Buffer.from([0xff, 0x00]), Buffer.alloc(100_000, 'x')])
  const body = Buffer.concat([field('metadata', Buffer.from('[1]')), field('value', value), Buffer.from('--b--\r\n')])
  const sent = await send(api, 'PUT', path, body, { 'content-type': 'multipart/form-data; boundary=b' })
  t.equal(sent.status, 200)
  t.same(Buffer.from(await (await send(api, 'GET', path)).arrayBuffer()), value)
})

t.test('metadata in a field for each member is stored', async (t) => {
  const api = await open(t)
  const id = await namespace(api)
  const { values, metadata } = api.cf.kv.namespaces
  const place = { ...inAccount, namespace_id: id }
  const sent = { m: 1, name: 'a b', on: true, tags: ['x', 'y'], code: '007', deep: { id: '12345678901234567890' } }
  await values.update('k', { ...place, value: 'v', metadata: sent })
  t.same(await metadata.get('k', place), sent)
})

t.test('a form with other fields or too many is refused, and nothing is stored', async (t) => {
  const api = await open(t)
  const path = `${KV}/${await namespace(api)}/values/k`
  const REFUSED: readonly (readonly [what: string, fields: readonly string[], pointer?: string])[] = [
    ['another field', ['meta'], '/meta'],
    ['the value twice', ['value'], '/value'],
    ['a pointer', ['a/b'], '/a~1b'],
    ['metadata twice', ['metadata', 'metadata'], '/metadata'],
    ['metadata in two forms', ['metadata', 'metadata[a]'], '/metadata'],
    ['a prototype', ['metadata[__proto__]'], '/metadata/__proto__'],
    ['a member twice', ['metadata[a]', 'metadata[a]'], '/metadata'],
    ['many parts', Array.from({ length: 100 }, (_, at) => `metadata[x${at}]`)],
  ]
  for (const [what, fields, pointer] of REFUSED) {
    const form = new FormData()
    form.append('value', 'v')
    for (const name of fields) form.append(name, '1')
    const response = await send(api, 'PUT', path, form)
    const { errors } = (await response.json()) as { errors: { source?: { pointer: string } }[] }
    t.same([response.status, errors[0]?.source?.pointer], [400, pointer], what)
  }
  t.equal((await send(api, 'GET', path)).status, 404)
})

t.test('a value has at most 25 MiB, and the one that stood there stays', async (t) => {
  const api = await open(t)
  const id = await namespace(api)
  const path = `${KV}/${id}/values/k`
  await send(api, 'PUT', path, 'before')
  const tooMuch = Buffer.alloc(25 * 1024 * 1024 + 1)
  const form = new FormData()
  form.set('value', new Blob([tooMuch]))
  for (const body of [tooMuch, form]) {
    const refused = await send(api, 'PUT', path, body).catch((error: Error) => error)
    // Node's client may lose an answer that comes before its request is over.
    if (!(refused instanceof Error))
      t.match([refused.status, await refused.json()], [413, { errors: [{ code: 20423 }] }])
  }
  t.equal(await (await send(api, 'GET', path)).text(), 'before')
  t.equal((await send(api, 'PUT', path, tooMuch.subarray(1))).status, 200)
})

t.test('buckets of one jurisdiction have names of their own', async (t) => {
  const api = await open(t)
  const { buckets } = api.cf.r2
  const made = await buckets.create({ ...inAccount, name: 'files', locationHint: 'weur' })
  t.same(made, {
    name: 'files',
    creation_date: '2026-11-21T12:00:00.000Z',
    jurisdiction: 'default',
    location: 'weur',
    storage_class: 'Standard',
  })
  const inEurope = { ...inAccount, 'cf-r2-jurisdiction': 'eu' } as const
  await buckets.create({ ...inEurope, name: 'files', storageClass: 'InfrequentAccess' })
  t.match(await buckets.get('files', inEurope), { jurisdiction: 'eu', storage_class: 'InfrequentAccess' })
  t.match(await buckets.edit('files', { ...inEurope, storage_class: 'Standard' }), { storage_class: 'Standard' })
  await t.rejects(buckets.create({ ...inAccount, name: 'files' }), { status: 409, errors: [{ code: 10004 }] })
  // The official command line says text/plain.
  const plain = { 'content-type': 'text/plain;charset=UTF-8' }
  t.equal((await send(api, 'POST', R2, '{"name":"plain"}', plain)).status, 200)
  await buckets.create({ ...inAccount, name: 'logs' })
  t.match(await buckets.list({ ...inAccount, direction: 'desc' }), {
    buckets: [{ name: 'plain' }, { name: 'logs' }, { name: 'files' }],
  })
  const first = await api.call('GET', `${R2}?per_page=2`)
  t.match(first.body.result.buckets, [{ name: 'files' }, { name: 'logs' }])
  const rest = await api.call('GET', `${R2}?per_page=2&cursor=${first.body.result_info.cursor}`)
  t.match(rest.body, { result: { buckets: [{ name: 'plain' }] }, result_info: { cursor: undefined } })
  await buckets.delete('files', inAccount)
  await t.rejects(buckets.get('files', inAccount), { status: 404, errors: [{ code: 10006 }] })
  t.match(await buckets.get('files', inEurope), { name: 'files' })
})

t.test('the official client makes, lists, changes and removes databases', async (t) => {
  const { cf } = await open(t)
  const { database } = cf.d1
  const { uuid = '' } = await database.create({ ...inAccount, name: 'users', primary_location_hint: 'weur' })
  t.match(uuid, /^[0-9a-f-]{36}$/)
  await database.create({ ...inAccount, name: 'orders' })
  t.equal((await all(database.list({ ...inAccount, per_page: 1 }))).length, 2)
  t.match(await all(database.list({ ...inAccount, name: 'users' })), [{ uuid, name: 'users' }])
  t.match(await database.get(uuid, inAccount), { uuid, read_replication: { mode: 'disabled' }, created_at: /^2026/ })
  t.match(await database.update(uuid, { ...inAccount, read_replication: { mode: 'auto' } }), {
    read_replication: { mode: 'auto' },
  })
  t.match(await database.edit(uuid, inAccount), { read_replication: { mode: 'auto' } })
  await database.delete(uuid, inAccount)
  await t.rejects(database.get(uuid, inAccount), { status: 404, errors: [{ code: 7404 }] })
})

// Writes that swept at the same time did not count each other, nor keys of theirs that the sweep had removed.
t.test('an account keeps to its keys, whatever is written at the same time', async (t) => {
  const clock = handClock()
  const { store } = await client(t, { clock })
  const blobs = fileBlobs(testFolder(t), clock)
  const values = new KeyValues({ store, blobs: () => blobs, clock }, 4)
  const scope = account(ACCOUNT)
  await store.batch([{ kind: KV_NAMESPACES, scope, id: 'n', value: { title: 'n' } }])
  const bytes = Buffer.alloc(2000)
  const put = async (...keys: string[]) =>
    await values.put(
      scope,
      'n',
      keys.map((key) => ({ key, bytes })),
    )
  const over = { bytes, expiration: Math.floor(clock.now() / 1000) + 60 }
  await values.put(scope, 'n', [
    { key: 'over', ...over },
    { key: 'gone', ...over },
  ])
  await put('a', 'b')
  await t.rejects(put('c'), { name: 'TooManyKeys' })
  clock.advance(61_000)
  const tried = await Promise.allSettled(['c', 'd', 'e', 'f'].map(async (key) => await put(key)))
  t.equal(tried.filter(({ status }) => status === 'rejected').length, 2, 'two of four find room')
  t.equal(store.count(KV_VALUES, scope), 4)

  await values.remove(scope, 'n', ['a', 'b', 'c', 'd', 'e', 'f'])
  await values.put(scope, 'n', [{ key: 'over', bytes, expiration: Math.floor(clock.now() / 1000) + 60 }])
  await put('a', 'b', 'c')
  clock.advance(61_000)
  await t.rejects(
    put('over', 'd'),
    { name: 'TooManyKeys' },
    'a key of its own that is over makes room for itself alone',
  )
  await put('over', 'c')
  t.equal(store.count(KV_VALUES, scope), 4)
})

const ID = 'NAMESPACE'
const far = '1'.repeat(513)
const REFUSED: readonly RefusedRow[] = [
  ['a namespace without a title', 'POST', KV, {}, 400, 10012, '/title'],
  ['an empty title', 'POST', KV, { title: '' }, 400, 10012, '/title'],
  ['a title that is taken', 'POST', KV, { title: 'mine' }, 400, 10014],
  ['a jurisdiction that is none', 'POST', KV, { title: 'x', jurisdiction: 'mars' }, 400, 10012, '/jurisdiction'],
  ['an unknown member', 'POST', KV, { title: 'x', name: 'y' }, 400, 10012, '/name'],
  ['a namespace that is not there', 'GET', `${KV}/${'f'.repeat(32)}`, undefined, 404, 10013],
  ['keys of a namespace that is not there', 'GET', `${KV}/x/keys`, undefined, 404, 10013],
  ['a value in a namespace that is not there', 'PUT', `${KV}/x/values/k`, 'v', 404, 10013],
  ['a key that is not there', 'GET', `${KV}/${ID}/values/none`, undefined, 404, 10009],
  ['metadata of a key that is not there', 'GET', `${KV}/${ID}/metadata/none`, undefined, 404, 10009],
  ['a key that is too long', 'PUT', `${KV}/${ID}/values/${far}`, 'v', 400, 20422, '/key_name'],
  ['a life that is too short', 'PUT', `${KV}/${ID}/values/k?expiration_ttl=59`, 'v', 400, 20422, '/expiration_ttl'],
  ['a time that is over', 'PUT', `${KV}/${ID}/values/k?expiration=1700000000`, 'v', 400, 20422, '/expiration'],
  ['a time that is no number', 'PUT', `${KV}/${ID}/values/k?expiration=soon`, 'v', 400, 10002, '/expiration'],
  ['a limit below ten', 'GET', `${KV}/${ID}/keys?limit=9`, undefined, 400, 10002, '/limit'],
  ['a bulk that is no list', 'PUT', `${KV}/${ID}/bulk`, {}, 400, 20422, ''],
  ['a bulk value without a key', 'PUT', `${KV}/${ID}/bulk`, [{ value: 'x' }], 400, 20422, '/0/key'],
  ['a bulk value that is no text', 'PUT', `${KV}/${ID}/bulk`, [{ key: 'a', value: 1 }], 400, 20422, '/0/value'],
  ['an empty bulk key', 'PUT', `${KV}/${ID}/bulk`, [{ key: '', value: '' }], 400, 20422, '/0/key'],
  ['a bulk key of one dot', 'PUT', `${KV}/${ID}/bulk`, [{ key: '.', value: '' }], 400, 20422, '/0/key'],
  ['bad base64', 'PUT', `${KV}/${ID}/bulk`, [{ key: 'a', value: '?', base64: true }], 400, 20422, '/0/value'],
  [
    'a short bulk life',
    'PUT',
    `${KV}/${ID}/bulk`,
    [{ key: 'a', value: '', expiration_ttl: 1 }],
    400,
    20422,
    '/0/expiration_ttl',
  ],
  [
    'much metadata',
    'PUT',
    `${KV}/${ID}/bulk`,
    [{ key: 'a', value: '', metadata: far + far }],
    400,
    20422,
    '/0/metadata',
  ],
  ['a bulk read of nothing', 'POST', `${KV}/${ID}/bulk/get`, { keys: [] }, 400, 20422, '/keys'],
  ['a bulk delete of numbers', 'POST', `${KV}/${ID}/bulk/delete`, [1], 400, 20422, '/0'],
  ['a bucket without a name', 'POST', R2, {}, 400, 10005, '/name'],
  ['a short bucket name', 'POST', R2, { name: 'ab' }, 400, 10005, '/name'],
  ['capitals in a bucket name', 'POST', R2, { name: 'Files' }, 400, 10005, '/name'],
  ['a hyphen at the end', 'POST', R2, { name: 'files-' }, 400, 10005, '/name'],
  ['a place that is none', 'POST', R2, { name: 'files', locationHint: 'moon' }, 400, 10005, '/locationHint'],
  ['a bucket that is not there', 'GET', `${R2}/none`, undefined, 404, 10006],
  ['a bucket to delete that is not there', 'DELETE', `${R2}/none`, undefined, 404, 10006],
  ['a change without a class', 'PATCH', `${R2}/none`, undefined, 400, 10005],
  ['a database without a name', 'POST', D1, {}, 400, 7500, '/name'],
  ['a database name with spaces', 'POST', D1, { name: 'a b' }, 400, 7500, '/name'],
  ['a database that is not there', 'GET', `${D1}/none`, undefined, 404, 7404],
  [
    'replication of no kind',
    'PUT',
    `${D1}/none`,
    { read_replication: { mode: 'x' } },
    400,
    7500,
    '/read_replication/mode',
  ],
  ['replication that is missing', 'PUT', `${D1}/none`, {}, 400, 7500, '/read_replication'],
]
t.test('what does not fit is refused, and nothing is changed', async (t) => {
  const api = await open(t)
  const id = await namespace(api)
  await refusesAll(
    t,
    api,
    REFUSED.map(([what, method, path, ...rest]) => [what, method, path.replace(ID, id), ...rest]),
  )
})

t.test('who may only read changes nothing', async (t) => {
  const token = 'reader-token-0123456789-abcdefghijk'
  const permissions = ['Workers KV Storage Read', 'Workers R2 Storage Read', 'D1 Read']
  const { as } = await client(t, {
    config: { tokens: [{ name: 'reader', token, permissions, accounts: ['*'], zones: ['*'] }] },
    areas: (deps) => storage({ ...deps, blobs: () => fileBlobs(testFolder(t), deps.clock) }),
  })
  const call = as(token)
  for (const path of [KV, R2, D1]) {
    t.equal((await call('GET', path)).status, 200)
    t.match(await call('POST', path, { title: 'mine', name: 'mine' }), {
      status: 403,
      body: { errors: [{ code: 10000 }] },
    })
  }
})
