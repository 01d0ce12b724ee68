import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { BatchBuffer } from '../../../../pipelines/logpush/batches/batch-buffer.js'
import { compileJob } from '../../../../pipelines/logpush/settings/compiled-job.js'
import { levelOf } from '../../../../pipelines/logpush/settings/limits.js'
import type { CompressionLevel } from '../../../../src/core/sink.js'
import { testFolder } from '../../../helpers/folder.js'

t.test('large bodies lie in files, small ones in memory, and all go', async (t) => {
  const folder = testFolder(t, { staging: { 'left.batch': 'of a run before' } })
  const staging = await BatchBuffer.open(join(folder, 'staging'), { bodyBytes: 100_000, memoryBytes: 150_000 })
  const files = () => readdirSync(join(folder, 'staging')).length
  t.equal(files(), 0)
  const piece = (index: number) => createHash('sha512').update(String(index)).digest('base64').repeat(500)
  const made = async (encoding: 'gzip' | 'identity', pieces: number) => {
    const stage = staging.begin(encoding, 3)
    for (let index = 0; index < pieces; index++) await stage.write(Buffer.from(piece(index)))
    return await stage.end(Buffer.from('end'))
  }
  const wanted = (pieces: number) => Array.from({ length: pieces }, (_, index) => piece(index)).join('') + 'end'
  for (const encoding of ['gzip', 'identity'] as const) {
    const [small, large] = [await made(encoding, 1), await made(encoding, 400)]
    t.equal(files(), encoding === 'identity' ? 1 : Number(large.length > 100_000))
    for (const [body, pieces] of [
      [small, 1],
      [large, 400],
    ] as const) {
      for (let reads = 0; reads < 2; reads++) {
        const bytes = Buffer.concat(await all(body.read()))
        t.equal(bytes.length, body.length)
        t.ok((encoding === 'gzip' ? gunzipSync(bytes) : bytes).equals(Buffer.from(wanted(pieces))))
        t.ok(bytes.equals(Buffer.from(await body.bytes())))
      }
      await body.discard()
    }
    t.equal(files(), 0)
  }
  const stages = [await made('identity', 2), await made('identity', 2)]
  t.equal(files(), 1, 'all bodies together have a limit')
  for (const body of stages) await body.discard()
})

t.test('the level decides about the bytes of a body', async (t) => {
  const staging = await BatchBuffer.open(join(testFolder(t), 'staging'))
  const text = Array.from(
    { length: 2000 },
    (_, n) => `"192.0.2.${n % 250}","/shop/item/${(n * 7919) % 1000}",200\n`,
  ).join('')
  const made = async (level: number) => {
    const body = await staging.begin('gzip', level).end(Buffer.from(text))
    const bytes = Buffer.from(await body.bytes())
    await body.discard()
    t.equal(gunzipSync(bytes).toString(), text)
    return bytes
  }
  const [fast, usual, small] = [await made(1), await made(3), await made(9)]
  t.ok(fast.length > usual.length && usual.length > small.length)
})

t.test('the output type decides about the level that nothing sets', async (t) => {
  const level = (settings: object, absent?: CompressionLevel) =>
    levelOf(compileJob({ dataset: 'http_requests', ...settings }, 'job'), absent)
  const csv = { output_options: { output_type: 'csv' } }
  t.strictSame([level(csv), level({}), level(csv, 'auto'), level({}, 'auto')], [2, 3, 2, 3])
  t.equal(level(csv, 6), 6)
  t.equal(level({ ...csv, compression_level: 9 }, 6), 9)
  t.equal(level({ ...csv, compression_level: 'auto' }, 6), 2)
})

async function all(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const found: Uint8Array[] = []
  for await (const piece of pieces) found.push(piece)
  return found
}
