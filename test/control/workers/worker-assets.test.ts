import Cloudflare from 'cloudflare'
import { decodeJwt } from 'jose'
import t, { type Test } from 'tap'
import { basicEndpoints, type BasicDeps } from '../../../control/index.js'

import { workers } from '../../../control/workers/index.js'
import { Tails } from '../../../control/workers/services/tail-sessions.js'
import { MemoryBudget } from '../../../src/core/memory/memory-budget.js'
import { readConfig } from '../../../src/config/load.js'
import { ASSET_SESSIONS, WORKER_ASSETS } from '../../../src/core/model/worker-assets.js'
import { account } from '../../../src/core/scope.js'
import { memoryBlobs } from '../../../src/store/blobs/memory-blobs.js'
import { readManifest } from '../../../src/workers/assets/manifest.js'
import { BadToken } from '../../../src/workers/assets/uploads.js'
import { CodeReader } from '../../../src/workers/code/reader.js'
import type { ScriptRepository } from '../../../src/workers/script-repository.js'
import { hashOf, uploadsOver } from '../../helpers/deployed-assets.js'
import { ACCOUNT, ADMIN, client, handClock, NOWHERE, OTHER_ACCOUNT } from '../client.js'

const SESSION = `/accounts/${ACCOUNT}/workers/scripts/site/assets-upload-session`
const UPLOAD = `/accounts/${ACCOUNT}/workers/assets/upload?base64=true`
const limits = readConfig('accounts: []', 'test.yaml', {}).workers
const vault = { seal: () => '', open: () => '' }

async function api(t: Test) {
  const clock = handClock()
  const blobs = memoryBlobs(clock)
  const made = await client(t, {
    clock,
    areas: (deps: BasicDeps) => {
      const engine = {
        vault,
        blobs,
        repository: {} as ScriptRepository,
        assets: uploadsOver(deps.store, blobs, clock),
        uploads: new MemoryBudget(Infinity),
        runtime: undefined,
        code: new CodeReader(),
        tails: new Tails({ store: deps.store, clock }),
        limits: () => limits,
      }
      return [...basicEndpoints(deps), ...workers({ ...deps, workers: () => engine })]
    },
  })
  const uploads = uploadsOver(made.store, blobs, clock)
  const open = async (files: Record<string, string>) => {
    const rows = Object.entries(files).map(([path, text]) => [path, { hash: hashOf(text), size: text.length }])
    return await made.call('POST', SESSION, { manifest: Object.fromEntries(rows) })
  }
  const upload = async (jwt: string, parts: Record<string, string | Blob>, path = UPLOAD) => {
    const form = new FormData()
    for (const [hash, part] of Object.entries(parts))
      if (typeof part === 'string') form.append(hash, part)
      else form.append(hash, part, hash)
    const headers = { authorization: `Bearer ${jwt}` }
    const response = await fetch(made.url + path, { method: 'POST', headers, body: form })
    return { status: response.status, body: (await response.json()) as { result: { jwt?: string }; errors: object[] } }
  }
  const completion = async (jwt: string) => await uploads.readCompletion(account(ACCOUNT), 'site', jwt)
  return { ...made, blobs, open, upload, completion, clock }
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const part = (text: string, type = 'text/html') => new Blob([base64(text)], { type })

t.test('files are announced, uploaded in any order and stood for by a token', async (t) => {
  const { open, upload, completion, blobs } = await api(t)
  const opened = await open({ '/a.html': 'A', '/b.css': 'B', '/again.html': 'A' })
  t.match(opened, { status: 200, body: { result: { buckets: [[hashOf('A'), hashOf('B')]] } } })
  const { jwt } = opened.body.result
  t.type(decodeJwt(jwt).exp, 'number')
  t.match(await upload(jwt, { [hashOf('B')]: part('B', 'text/css; charset=utf-8') }), {
    status: 202,
    body: { result: {} },
  })
  const last = await upload(jwt, { [hashOf('A')]: part('A', 'application/null') })
  t.equal(last.status, 201)
  const manifest = readManifest((await blobs.get(await completion(last.body.result.jwt!)))!)
  t.match(
    [...manifest],
    [
      ['/a.html', { size: 1, type: undefined }],
      ['/again.html', { size: 1 }],
      ['/b.css', { size: 1, type: 'text/css; charset=utf-8' }],
    ],
  )
  t.equal((await blobs.get(manifest.get('/a.html')!.blob))?.toString(), 'A')

  const known = await open({ '/c.html': 'A' })
  t.same(known.body.result.buckets, [], 'what the account has is not sent again')
  t.type(await completion(known.body.result.jwt), 'string')
  await t.rejects(completion(jwt), BadToken, 'the token for uploads is no completion')
})

const file = { hash: hashOf('x'), size: 1 }
const BAD_MANIFESTS: [what: string, manifest: unknown, pointer: string][] = [
  ['none', undefined, '/manifest'],
  ['a list', [], '/manifest'],
  ['no slash', { 'a.html': file }, '/manifest/a.html'],
  ['a folder', { '/a/': file }, '/manifest/~1a~1'],
  ['dots', { '/a/../b': file }, '/manifest/~1a~1..~1b'],
  ['dots at the end', { '/a/..': file }, '/manifest/~1a~1..'],
  ['an empty segment', { '/a//b': file }, '/manifest/~1a~1~1b'],
  ['a control character', { '/a\nb': file }, '/manifest/~1a\nb'],
  ['a long path', { [`/${'a'.repeat(1024)}`]: file }, `/manifest/~1${'a'.repeat(1024)}`],
  ['no hash', { '/a': { size: 1 } }, '/manifest/~1a/hash'],
  ['a short hash', { '/a': { hash: 'abc', size: 1 } }, '/manifest/~1a/hash'],
  ['upper case', { '/a': { hash: 'A'.repeat(32), size: 1 } }, '/manifest/~1a/hash'],
  ['no size', { '/a': { hash: file.hash } }, '/manifest/~1a/size'],
  ['a size below 0', { '/a': { ...file, size: -1 } }, '/manifest/~1a/size'],
  ['too large', { '/a': { ...file, size: 25 * 1024 * 1024 + 1 } }, '/manifest/~1a/size'],
  ['two sizes', { '/a': file, '/b': { ...file, size: 2 } }, '/manifest/~1b/size'],
  ['another member', { '/a': { ...file, type: 'x' } }, '/manifest/~1a/type'],
  ['too many', Object.fromEntries(Array.from({ length: 20_001 }, (_, i) => [`/${i}`, file])), '/manifest'],
]
t.test('a manifest that cannot be served is refused where it is wrong', async (t) => {
  const { call, store } = await api(t)
  for (const [what, manifest, pointer] of BAD_MANIFESTS)
    t.match(
      await call('POST', SESSION, { manifest }),
      { status: 400, body: { errors: [{ code: 10300, source: { pointer } }] } },
      what,
    )
  t.equal(store.count(ASSET_SESSIONS), 0, 'nothing is kept of them')
})

t.test('a file that was not announced as it comes is refused with all of its request', async (t) => {
  const { open, upload, store } = await api(t)
  const { jwt } = (await open({ '/a': 'A', '/b': 'BB' })).body.result
  const ROWS: [what: string, parts: Record<string, string | Blob>, pointer: string | undefined][] = [
    ['unknown', { [hashOf('A')]: part('A'), [hashOf('x')]: part('x') }, `/${hashOf('x')}`],
    ['another size', { [hashOf('A')]: part('A'), [hashOf('BB')]: part('BBB') }, `/${hashOf('BB')}`],
    ['no base64', { [hashOf('A')]: new Blob(['@@@@']) }, `/${hashOf('A')}`],
    ['no hash', { file: part('A') }, undefined],
  ]
  for (const [what, parts, pointer] of ROWS)
    t.match(
      await upload(jwt, parts),
      { status: 400, body: { errors: [{ code: 10300, ...(pointer && { source: { pointer } }) }] } },
      what,
    )
  // To read hundreds of thousands took seconds, for everybody.
  const many = Array.from({ length: 2001 }, (_, i): [string, Blob] => [hashOf(String(i)), part('A')])
  t.match(await upload(jwt, Object.fromEntries(many)), {
    status: 400,
    body: { errors: [{ message: 'a form has 2000 parts at most' }] },
  })
  t.equal((await upload(jwt, Object.fromEntries(many.slice(1)))).status, 400, 'so many are read')
  t.equal(store.count(WORKER_ASSETS), 0)
  t.equal((await upload(jwt, { [hashOf('A')]: base64('A') })).status, 202, 'a part without a file name')
  t.equal(
    (await upload(jwt, { [hashOf('BB')]: new Blob(['BB']) }, UPLOAD.split('?')[0])).status,
    201,
    'bytes as they are',
  )
})

t.test('files need the token of their session, within its account and hour', async (t) => {
  const { open, upload, url, clock } = await api(t)
  const { jwt } = (await open({ '/a': 'A' })).body.result
  const parts = { [hashOf('A')]: part('A') }
  const [head, body] = jwt.split('.')
  const refused = { status: 401, body: { errors: [{ code: 10301 }] } }
  t.match(await upload(ADMIN, parts), refused)
  t.match(await upload(`${jwt}x`, parts), refused)
  t.match(await upload(`${head}.${body}.`, parts), refused)
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`
  t.match(await upload(unsigned, parts), refused)
  for (const id of [OTHER_ACCOUNT, NOWHERE]) t.match(await upload(jwt, parts, UPLOAD.replace(ACCOUNT, id)), refused)
  t.match((await fetch(url + UPLOAD, { method: 'POST' })).status, 401)
  const json = {
    method: 'POST',
    headers: { authorization: `Bearer ${jwt}`, 'content-type': 'application/json' },
    body: '{}',
  }
  t.equal((await fetch(url + UPLOAD, json)).status, 415)
  const form = { ...json, headers: { ...json.headers, 'content-type': 'multipart/form-data; boundary=x' }, body: '--y' }
  t.equal((await fetch(url + UPLOAD, form)).status, 400)
  clock.advance(3_600_001)
  t.match(await upload(jwt, parts), refused, 'an hour later')
})

t.test('sessions end, and there are not more than a hundred', async (t) => {
  const { open, upload, store, clock } = await api(t)
  const first = (await open({ '/a': 'A' })).body.result.jwt
  for (let i = 0; i < 105; i++) {
    clock.advance(1)
    await open({ [`/${i}`]: `${i}` })
  }
  t.equal(store.count(ASSET_SESSIONS), 100)
  t.equal((await upload(first, { [hashOf('A')]: part('A') })).status, 401)
  clock.advance(3_600_001)
  await open({ '/a': 'A' })
  t.equal(store.count(ASSET_SESSIONS), 1)
})

t.test('the official client', async (t) => {
  const { url, completion } = await api(t)
  const cloudflare = new Cloudflare({ apiToken: ADMIN, baseURL: url, maxRetries: 0 })
  const manifest = { '/index.html': { hash: hashOf('<h1>Hi</h1>'), size: 11 } }
  const session = await cloudflare.workers.scripts.assets.upload.create('site', { account_id: ACCOUNT, manifest })
  t.same(session.buckets, [[hashOf('<h1>Hi</h1>')]])
  const done = await cloudflare.workers.assets.upload.create(
    { account_id: ACCOUNT, base64: true, body: { [hashOf('<h1>Hi</h1>')]: base64('<h1>Hi</h1>') } },
    { headers: { authorization: `Bearer ${session.jwt}` } },
  )
  t.type(await completion(done?.jwt ?? ''), 'string')
})
