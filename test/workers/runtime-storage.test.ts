import t from 'tap'
import { SKIP, workersDaemon } from './runtime-helper.js'

const skip = { skip: SKIP }

t.test('a bucket is the same for a script and for the API', skip, async (t) => {
  const daemon = await workersDaemon(t)
  await daemon.api('POST', '/r2/buckets', { name: 'files' })
  const code = `const handlers = {
    async write(env) {
      const put = await env.FILES.put('dir/ü & 1', 'hello', { httpMetadata: { contentType: 'text/x-a', cacheExpiry: new Date(1e12) }, customMetadata: { m: 'ü' }, sha256: await crypto.subtle.digest('SHA-256', new TextEncoder().encode('hello')) })
      const head = await env.FILES.head('dir/ü & 1')
      return [put.size, head.httpEtag, head.customMetadata, head.httpMetadata.contentType, head.httpMetadata.cacheExpiry.getTime(), Object.entries(head.checksums.toJSON()).filter(([, hex]) => hex).map(([name]) => name)]
    },
    async read(env) {
      const all = await env.FILES.get('dir/ü & 1')
      const part = await env.FILES.get('dir/ü & 1', { range: { offset: 1, length: 3 } })
      const end = await env.FILES.get('dir/ü & 1', { range: { suffix: 2 } })
      return [await all.text(), await part.text(), part.range, await end.text(), await env.FILES.get('none'), await env.FILES.head('none')]
    },
    async conditions(env) {
      const { etag } = await env.FILES.head('dir/ü & 1')
      const differs = await env.FILES.get('dir/ü & 1', { onlyIf: { etagDoesNotMatch: etag } })
      const stays = await env.FILES.put('dir/ü & 1', 'other', { onlyIf: { etagMatches: 'none' } })
      return ['body' in differs, differs.etag === etag, stays]
    },
    async wrong(env) { return await env.FILES.put('x', 'y', { md5: '0'.repeat(32) }).catch((error) => error.message) },
    async limits(env) {
      return await Promise.all([0, 1001].map((limit) => env.FILES.list({ limit }).catch((error) => error.message)))
    },
    async list(env) {
      for (const key of ['a', 'dir/2', 'dir/sub/3']) await env.FILES.put(key, key, { customMetadata: { key } })
      const first = await env.FILES.list({ limit: 2, include: ['customMetadata'] })
      const rest = await env.FILES.list({ cursor: first.cursor })
      const dirs = await env.FILES.list({ delimiter: '/' })
      return [first.objects.map(({ key, customMetadata }) => [key, customMetadata.key]), first.truncated, rest.objects.map(({ key }) => key), rest.truncated, dirs.delimitedPrefixes, dirs.objects.map(({ key }) => key)]
    },
    async parts(env) {
      const upload = await env.FILES.createMultipartUpload('big', { customMetadata: { p: '1' } })
      const again = env.FILES.resumeMultipartUpload('big', upload.uploadId)
      const parts = [await again.uploadPart(1, new Uint8Array(5 * 2 ** 20)), await again.uploadPart(2, 'end')]
      const done = await upload.complete(parts)
      const other = await env.FILES.createMultipartUpload('none')
      await other.abort()
      return [done.size, done.httpEtag.endsWith('-2"'), await (await env.FILES.get('big', { range: { suffix: 3 } })).text(), await other.uploadPart(1, 'x').catch((error) => error.message)]
    },
    async stream(env, request) { return (await env.FILES.put('streamed', request.body)).size },
    async remove(env) { await env.FILES.delete(['a', 'big', 'none']); return (await env.FILES.list()).objects.map(({ key }) => key) },
  }
  export default { async fetch(request, env) {
    const what = new URL(request.url).pathname.slice(1)
    if (what === 'body') return new Response((await env.FILES.get('big')).body)
    return Response.json(await handlers[what](env, request) ?? null)
  } }`
  await daemon.upload('app', code, { bindings: [{ name: 'FILES', type: 'r2_bucket', bucket_name: 'files' }] })
  await daemon.domain('app')
  const run = async (what: string, more = {}) => {
    const { text } = await daemon.get('app.example.test', `/${what}`, {
      headers: { accept: 'application/json' },
      ...more,
    })
    return JSON.parse(text) as unknown
  }
  const etag = '"5d41402abc4b2a76b9719d911017c592"'
  t.same(await run('write'), [5, etag, { m: 'ü' }, 'text/x-a', 1e12, ['md5', 'sha256']])
  t.same(await run('read'), ['hello', 'ell', { offset: 1, length: 3 }, 'lo', null, null])
  t.same(await run('conditions'), [false, true, null])
  t.match(await run('wrong'), /10037/)
  t.match(await run('limits'), [/10022/, /10022/])
  t.same(await run('list'), [
    [
      ['a', 'a'],
      ['dir/2', 'dir/2'],
    ],
    true,
    ['dir/sub/3', 'dir/ü & 1'],
    false,
    ['dir/'],
    ['a'],
  ])
  t.match(await run('parts'), [5 * 2 ** 20 + 3, true, 'end', /10024/])
  t.equal((await daemon.get('app.example.test', '/body')).text.length, 5 * 2 ** 20 + 3)
  t.equal(await run('stream', { method: 'POST', body: 'x'.repeat(300_000) }), 300_000)
  t.same(await run('remove'), ['dir/2', 'dir/sub/3', 'dir/ü & 1', 'streamed'])

  t.equal((await daemon.api('GET', `/r2/buckets/files/objects/${encodeURIComponent('dir/ü & 1')}`)).body, 'hello')
  t.equal(
    (await daemon.api('GET', '/r2/buckets/files/objects/dir/2')).body,
    'dir/2',
    'slashes of a key need no encoding',
  )
  await daemon.restart()
  t.same(((await run('read')) as unknown[])[0], 'hello', 'objects outlive a restart')
})
