import { createHash, randomBytes } from 'node:crypto'
import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { storage } from '../../../control/storage/index.js'
import { R2_UPLOADS } from '../../../src/core/model/objects.js'
import { R2_LIFECYCLES } from '../../../src/core/model/bucket-settings.js'
import { account } from '../../../src/core/scope.js'
import { fileBlobs } from '../../../src/store/blobs/file-blobs.js'
import { ObjectLifecycle } from '../../../src/workers/storage/object-lifecycle.js'
import { Objects } from '../../../src/workers/storage/objects.js'
import { ObjectUploads } from '../../../src/workers/storage/object-uploads.js'
import { all } from '../../helpers/all.js'
import { testFolder } from '../../helpers/folder.js'
import { ACCOUNT, ADMIN, client, handClock } from '../client.js'

const R2 = `/accounts/${ACCOUNT}/r2/buckets`
const inAccount = { account_id: ACCOUNT }
const inBucket = { ...inAccount, bucket_name: 'files' }
const scope = account(ACCOUNT)
const BUCKET = 'default/files'

async function open(t: Test) {
  const clock = handClock()
  const blobs = fileBlobs(testFolder(t), clock)
  const api = await client(t, { clock, areas: (deps) => storage({ ...deps, blobs: () => blobs }) })
  const cf = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: api.url })
  await api.call('POST', R2, { name: 'files' })
  const objects = new Objects({ store: api.store, blobs: () => blobs, clock })
  const uploads = new ObjectUploads({ store: api.store, clock, objects })
  const put = async (key: string, headers: Record<string, string> = {}, body: string | Uint8Array<ArrayBuffer> = key) =>
    await fetch(`${api.url}${R2}/files/objects/${key}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${ADMIN}`, ...headers },
      body,
    })
  const get = async (key: string, headers: Record<string, string> = {}) =>
    await fetch(`${api.url}${R2}/files/objects/${key}`, { headers: { authorization: `Bearer ${ADMIN}`, ...headers } })
  return { ...api, clock, cf, objects, uploads, put, get }
}

const text = async (bytes: AsyncIterable<Buffer>): Promise<string> => {
  let found = ''
  for await (const piece of bytes) found += piece.toString()
  return found
}
async function* pieces(...bytes: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* bytes
}

t.test('the official client stores, reads, lists and deletes objects', async (t) => {
  const { cf, call } = await open(t)
  const { objects } = cf.r2.buckets
  const stored = await objects.upload('path/to/ü & b.txt', 'hello', inBucket)
  t.match(stored, {
    key: 'path/to/ü & b.txt',
    size: '5',
    storage_class: 'Standard',
    etag: '5d41402abc4b2a76b9719d911017c592',
  })
  t.equal(await (await objects.get('path/to/ü & b.txt', inBucket)).text(), 'hello')
  await objects.upload('path/other/', '', { ...inBucket, 'cf-r2-storage-class': 'InfrequentAccess' })
  const listed = await all(objects.list('files', { ...inAccount, per_page: 1 }))
  t.match(listed, [
    { key: 'path/other/', size: 0, storage_class: 'InfrequentAccess' },
    { key: 'path/to/ü & b.txt', size: 5, last_modified: '2026-11-21T12:00:00.000Z' },
  ])
  t.equal((await call('DELETE', `${R2}/files`)).body.errors[0].code, 10008, 'a bucket with objects stays')
  t.match(await objects.delete('path/other/', inBucket), { key: 'path/other/' })
  t.same((await call('DELETE', `${R2}/files/objects`, ['path/to/ü & b.txt', 'none'])).status, 200)
  await t.rejects(objects.get('path/to/ü & b.txt', inBucket), { status: 404, errors: [{ code: 10007 }] })
  await t.rejects(objects.upload('a', 'b', { ...inBucket, bucket_name: 'none' }), {
    status: 404,
    errors: [{ code: 10006 }],
  })
  await t.rejects(objects.upload('x'.repeat(1025), 'b', inBucket), { status: 400, errors: [{ code: 10029 }] })
  t.equal((await call('DELETE', `${R2}/files`)).status, 200)
})

t.test('header fields, conditions and ranges of objects', async (t) => {
  const { put, get } = await open(t)
  const sent = {
    'content-type': 'text/x-a',
    'cache-control': 'max-age=5',
    'content-disposition': 'inline',
    expires: 'Tue, 01 Dec 2026 00:00:00 GMT',
  }
  t.equal((await put('a', sent, '0123456789')).status, 200)
  const whole = await get('a')
  const { etag = '', 'last-modified': modified = '', ...headers } = Object.fromEntries(whole.headers)
  t.match(headers, { ...sent, 'content-length': '10' })
  t.equal(await whole.text(), '0123456789')
  const RANGES: readonly (readonly [range: string, status: number, text: string, contentRange: string | null])[] = [
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=8-', 206, '89', 'bytes 8-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=5-100', 206, '56789', 'bytes 5-9/10'],
    ['bytes=a', 200, '0123456789', null],
  ]
  for (const [range, status, body, contentRange] of RANGES) {
    const part = await get('a', { range })
    t.same([part.status, await part.text(), part.headers.get('content-range')], [status, body, contentRange], range)
  }
  t.equal((await get('a', { range: 'bytes=10-' })).status, 416)
  const CONDITIONS: readonly (readonly [headers: Record<string, string>, status: number])[] = [
    [{ 'if-none-match': etag }, 304],
    [{ 'if-none-match': `W/${etag}` }, 304],
    [{ 'if-none-match': '"other"' }, 200],
    [{ 'if-modified-since': modified }, 304],
    [{ 'if-match': '"other"' }, 412],
    [{ 'if-match': `"other", ${etag}` }, 200],
    [{ 'if-unmodified-since': modified }, 200],
    [{ 'if-unmodified-since': 'Sat, 21 Nov 2020 00:00:00 GMT' }, 412],
  ]
  for (const [condition, status] of CONDITIONS)
    t.equal((await get('a', condition)).status, status, JSON.stringify(condition))
  t.equal((await put('a', { 'if-none-match': '*' })).status, 412, 'an object that exists is not replaced')
  t.equal((await put('b', { 'if-none-match': '*' })).status, 200)
  t.equal((await put('a', { 'cf-r2-storage-class': 'Cold' })).status, 400)
})

t.test('keys with a delimiter behind the prefix are listed as one prefix', async (t) => {
  const { call, objects } = await open(t)
  for (const key of ['a', 'b/1', 'b/2/3', 'b\uffff', 'c/4', 'd'])
    await objects.put({ scope, bucket: BUCKET, key }, pieces(), { http: {}, custom: {} })
  const page = async (query: string) => {
    const { result, result_info: info } = (await call('GET', `${R2}/files/objects?${query}`)).body
    return [result.map(({ key }: { key: string }) => key), info.delimited, info.cursor] as const
  }
  t.same(await page('delimiter=/'), [['a', 'b\uffff', 'd'], ['b/', 'c/'], ''])
  t.same(await page('delimiter=/&prefix=b/'), [['b/1'], ['b/2/'], ''])
  const seen: string[] = []
  for (let cursor = ''; ;) {
    const [keys, prefixes, next] = await page(`delimiter=/&per_page=1&cursor=${cursor}`)
    seen.push(...keys, ...prefixes)
    if (next === '') break
    cursor = next
  }
  t.same(seen, ['a', 'b/', 'b\uffff', 'c/', 'd'], 'page by page')
  t.same((await page('start_after=b/2'))[0], ['b/2/3', 'b\uffff', 'c/4', 'd'])
})

t.test('an object of several blobs, and one that is uploaded in parts', async (t) => {
  const { objects, uploads, clock } = await open(t)
  const place = { scope, bucket: BUCKET, key: 'big' }
  const bytes = randomBytes(9 * 2 ** 20)
  const digests = new Map([['sha256', createHash('sha256').update(bytes).digest('hex')] as const])
  const fields = { http: {}, custom: { a: 'b' } }
  const put = await objects.put(place, pieces(bytes.subarray(0, 5_000_000), bytes.subarray(5_000_000)), {
    ...fields,
    digests,
  })
  t.match(put, { size: bytes.length, chunks: { length: 3 }, etag: createHash('md5').update(bytes).digest('hex') })
  let read: Buffer = Buffer.alloc(0)
  for await (const piece of objects.read(put, { offset: 4_000_000, length: 1_000_000 }))
    read = Buffer.concat([read, piece])
  t.ok(read.equals(bytes.subarray(4_000_000, 5_000_000)))
  await t.rejects(objects.put(place, pieces(Buffer.from('x')), { ...fields, digests }), { code: 10037 })
  await t.rejects(objects.put(place, pieces(), { http: {}, custom: { a: 'x'.repeat(2048) } }), { code: 10012 })

  const upload = await uploads.create(place, fields)
  const first = await uploads.put(place, upload, 1, pieces(bytes.subarray(0, 5 * 2 ** 20)))
  const small = await uploads.put(place, upload, 2, pieces(Buffer.from('small')))
  const last = await uploads.put(place, upload, 3, pieces(Buffer.from('end')))
  const one = { part: 1, etag: first }
  await t.rejects(uploads.complete(place, upload, [one, { part: 2, etag: small }, { part: 3, etag: last }]), {
    code: 10011,
  })
  await t.rejects(uploads.complete(place, upload, [one, { part: 9, etag: last }]), { code: 10025 })
  await t.rejects(uploads.complete({ ...place, key: 'other' }, upload, [one]), { code: 10024 })
  const object = await uploads.complete(place, upload, [{ part: 3, etag: last }, one])
  t.match(object, { size: 5 * 2 ** 20 + 3, etag: /^[0-9a-f]{32}-2$/, custom: { a: 'b' } })
  t.equal(await text(objects.read(object, { offset: 5 * 2 ** 20, length: 3 })), 'end')
  await t.rejects(uploads.abort(place, upload), { code: 10024 })

  const old = await uploads.create(place, fields)
  clock.advance(8 * 86_400_000)
  const next = await uploads.create(place, fields)
  await t.rejects(uploads.put(place, old, 1, pieces()), { code: 10024 }, 'an upload ends after a week')
  await uploads.abort(place, next)
})

t.test(
  'the official client sets lifecycle rules, which delete objects, change their class and end uploads',
  async (t) => {
    const { cf, clock, store, uploads, put, call } = await open(t)
    const { lifecycle } = cf.r2.buckets
    t.strictSame(await lifecycle.get('files', inAccount), { rules: [] })
    const rules = [
      {
        id: 'old logs',
        enabled: true,
        conditions: { prefix: 'logs/' },
        deleteObjectsTransition: { condition: { type: 'Age' as const, maxAge: 3600 } },
      },
      {
        id: 'archive',
        enabled: true,
        conditions: { prefix: 'archive/' },
        storageClassTransitions: [
          {
            condition: { type: 'Date' as const, date: '2026-11-21T12:30:00.000Z' },
            storageClass: 'InfrequentAccess' as const,
          },
        ],
        abortMultipartUploadsTransition: { condition: { type: 'Age' as const, maxAge: 60 } },
      },
      {
        id: 'off',
        enabled: false,
        conditions: { prefix: '' },
        deleteObjectsTransition: { condition: { type: 'Age' as const, maxAge: 0 } },
      },
    ]
    t.strictSame(await lifecycle.update('files', { ...inAccount, rules }), {})
    t.strictSame(await lifecycle.get('files', inAccount), { rules })
    for (const key of ['logs/a', 'archive/b', 'c']) await put(key)
    await uploads.create({ scope, bucket: BUCKET, key: 'archive/d' }, { http: {}, custom: {} })
    const applied = new ObjectLifecycle({ store, uploads, clock })
    t.equal(await applied.run(), 0, 'nothing is due')
    clock.advance(1_800_000)
    t.equal(await applied.run(), 2)
    t.equal(store.count(R2_UPLOADS, scope), 0)
    clock.advance(1_800_000)
    t.equal(await applied.run(), 1)
    t.match(await all(cf.r2.buckets.objects.list('files', inAccount)), [
      { key: 'archive/b', storage_class: 'InfrequentAccess' },
      { key: 'c', storage_class: 'Standard' },
    ])
    t.equal(await applied.run(), 0)
    t.strictSame(await lifecycle.update('files', { ...inAccount, rules: [] }), {})
    await call('DELETE', `${R2}/files/objects`, ['archive/b', 'c'])
    await lifecycle.update('files', { ...inAccount, rules })
    t.equal((await call('DELETE', `${R2}/files`)).status, 200)
    t.equal(store.count(R2_LIFECYCLES, scope), 0, 'the rules go with their bucket')
  },
)

t.test('the official client reads how many objects an account has', async (t) => {
  const { cf, put } = await open(t)
  await put('a', {}, 'four')
  await put('b', { 'cf-r2-storage-class': 'InfrequentAccess' }, 'six___')
  t.match(await cf.r2.buckets.metrics.list(inAccount), {
    standard: { published: { objects: 1, payloadSize: 4, metadataSize: Number }, uploaded: { objects: 0 } },
    infrequentAccess: { published: { objects: 1, payloadSize: 6 } },
  })
})

t.test('the official client sets, reads and deletes a CORS policy, which has no effect', async (t) => {
  const { cf, call } = await open(t)
  const { cors } = cf.r2.buckets
  const missing = { status: 404, errors: [{ code: 10059 }] }
  await t.rejects(cors.get('files', inAccount), missing)
  const rules = [
    {
      id: 'site',
      allowed: { methods: ['GET' as const], origins: ['https://example.test'], headers: ['x-a'] },
      exposeHeaders: ['etag'],
      maxAgeSeconds: 3600,
    },
  ]
  t.strictSame(await cors.update('files', { ...inAccount, rules }), {})
  t.strictSame(await cors.get('files', inAccount), { rules })
  t.match((await call('PUT', `${R2}/files/cors`, { rules })).body.messages, [
    { code: 10900, source: { pointer: '/rules' } },
  ])
  await cors.delete('files', inAccount)
  await t.rejects(cors.get('files', inAccount), missing)
  await t.rejects(cors.get('none', inAccount), { status: 404, errors: [{ code: 10006 }] })
})

t.test('bad lifecycle rules and CORS policies are rejected with a pointer', async (t) => {
  const { call } = await open(t)
  const rule = { id: 'a', enabled: true, conditions: {} }
  const onDate = (date: string) => ({ ...rule, deleteObjectsTransition: { condition: { type: 'Date', date } } })
  const ROWS: readonly (readonly [path: string, rules: readonly unknown[], pointer: string])[] = [
    ['lifecycle', [rule, rule], '/rules/1/id'],
    ['lifecycle', [{ ...rule, enabled: 'yes' }], '/rules/0/enabled'],
    ['lifecycle', [{ ...rule, conditions: { suffix: 'a' } }], '/rules/0/conditions/suffix'],
    ['lifecycle', [onDate('tomorrow')], '/rules/0/deleteObjectsTransition/condition/date'],
    ['lifecycle', [onDate('2027-13-40')], '/rules/0/deleteObjectsTransition/condition/date'],
    ['cors', [{ allowed: { methods: ['PATCH'], origins: ['*'] } }], '/rules/0/allowed/methods/0'],
    ['cors', [{ allowed: { methods: ['GET'] } }], '/rules/0/allowed/origins'],
    ['cors', [{ allowed: { methods: ['GET'], origins: ['*'] }, maxAgeSeconds: -1 }], '/rules/0/maxAgeSeconds'],
  ]
  for (const [path, rules, pointer] of ROWS)
    t.match(
      await call('PUT', `${R2}/files/${path}`, { rules }),
      { status: 400, body: { errors: [{ code: 10005, source: { pointer } }] } },
      pointer,
    )
})
