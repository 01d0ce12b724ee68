import fc from 'fast-check'
import t from 'tap'
import { BatchText, compileFormat, copied, Scanner } from '../../../pipelines/records/index.js'
import { csv, formats, GUARD, httpRequests, names, RAY, TWO, written, type FormatCase } from './helper.js'

const CASES: FormatCase[] = [
  ['${ off', names('RayID'), ['{"RayID":"${jndi}"}'], '{"RayID":"${jndi}"}\n'],
  ['${ in a value', { ...names('RayID'), ...GUARD }, ['{"RayID":"${jndi}$${"}'], '{"RayID":"x{jndi}$x{"}\n'],
  ['${ in csv', { ...csv('RayID'), ...GUARD }, ['{"RayID":"${a}${b}"}'], '"x{a}x{b}"\n'],
  ['${ from an escape in csv', { ...csv('RayID'), ...GUARD }, ['{"RayID":"\\u0024\\u007b"}'], '"x{"\n'],
  [
    '${ in a nested value',
    { ...names('RequestHeaders'), ...GUARD },
    ['{"RequestHeaders":{"${":"${"}}'],
    '{"RequestHeaders":{"x{":"x{"}}\n',
  ],
  [
    '${ over a nested value',
    { ...names('RequestHeaders'), field_delimiter: '$', record_template: '${{.RequestHeaders}}', ...GUARD },
    ['{"RequestHeaders":{}}'],
    '{x{}}\n',
  ],
  ['${ over records', { ...names('RayID'), record_suffix: '$', ...GUARD }, TWO, '{"RayID":"r1"x{"RayID":"r2"$'],
  [
    '${ over a delimiter',
    { ...names('RayID'), record_suffix: '}', record_delimiter: '$', ...GUARD },
    TWO,
    '{"RayID":"r1"}x{"RayID":"r2"}',
  ],
  [
    '${ over a field delimiter',
    { ...csv('RequestHeaders'), record_prefix: '$', record_template: '{{.RequestHeaders}}{', ...GUARD },
    [RAY],
    '$null{\n',
  ],
  [
    '${ over batch_prefix',
    { ...names('RayID'), batch_prefix: '$', ...GUARD },
    TWO,
    'x{"RayID":"r1"}\n{"RayID":"r2"}\n',
  ],
  ['${ within batch_prefix', { ...names('RayID'), batch_prefix: '${', ...GUARD }, [RAY], 'x{{"RayID":"r1"}\n'],
  [
    '${ over batch_suffix',
    { ...names('RayID'), record_suffix: '$', batch_suffix: '{', ...GUARD },
    [RAY],
    '{"RayID":"r1"x{',
  ],
  ['${ within batch_suffix', { ...names('RayID'), batch_suffix: '${}', ...GUARD }, [RAY], '{"RayID":"r1"}\nx{}'],
  ['${ in a template', { ...names('RayID'), record_template: '{{"${"}}', ...GUARD }, [RAY], '{x{}\n'],
  ['${ without records', { ...names('RayID'), batch_prefix: '$', batch_suffix: '{', ...GUARD }, [], 'x{'],
]
formats(t, CASES)

t.test('a batch has a size, can drop its last record, and is read in pieces', async (t) => {
  const scanner = new Scanner(httpRequests)
  const record = (id: string) => scanner.scan(Buffer.from(`{"RayID":"${id}"}`))
  const options = { ...names('RayID'), batch_suffix: '{end', record_suffix: '$', ...GUARD }
  const batch = new BatchText(compileFormat(httpRequests, options))
  batch.add(record('r1'))
  const { size } = batch
  t.equal(size, '{"RayID":"r1"$'.length + '{end'.length)
  batch.add(record('r2'))
  t.equal(batch.records, 2)
  batch.removeLast()
  t.strictSame([batch.size, batch.records], [size, 1])
  t.throws(() => batch.removeLast(), /no record/)

  const first = Buffer.from(batch.take(copied)).toString()
  t.equal(batch.size, size, 'taking does not change the size')
  batch.add(record('r3'))
  const rest = Buffer.from(batch.close()).toString()
  t.equal(first + rest, '{"RayID":"r1"x{"RayID":"r3"x{end')
  t.strictSame([batch.records, batch.size], [0, '{end'.length], 'the next batch begins')
  batch.add(record('r4'))
  t.equal(Buffer.from(batch.close()).toString(), '{"RayID":"r4"x{end')
})

const pieces = fc.string({ unit: fc.constantFrom('$', '{', '}', 'x', '"', '\n', 'é'), maxLength: 4 })

t.test('no ${ is left where it must not be', async () => {
  const option = fc.record({
    batch_prefix: pieces,
    batch_suffix: pieces,
    record_prefix: pieces,
    record_suffix: pieces,
    record_delimiter: pieces,
    field_delimiter: pieces,
    output_type: fc.constantFrom('csv', 'ndjson'),
  })
  fc.assert(
    fc.property(
      option,
      fc.array(fc.tuple(pieces, pieces), { maxLength: 4 }),
      fc.boolean(),
      (options, values, taking) => {
        const all = { ...options, ...names('RayID', 'ClientIP') }
        const lines = values.map(([RayID, ClientIP]) => JSON.stringify({ RayID, ClientIP }))
        const scanner = new Scanner(httpRequests)
        const batch = new BatchText(compileFormat(httpRequests, { ...all, ...GUARD }))
        const parts: Uint8Array[] = []
        for (const line of lines) {
          batch.add(scanner.scan(Buffer.from(line)))
          if (taking) parts.push(batch.take(copied))
        }
        const guarded = Buffer.concat([...parts, batch.close()]).toString()
        return !guarded.includes('${') && guarded === written(all, lines).replaceAll('${', 'x{')
      },
    ),
  )
})
