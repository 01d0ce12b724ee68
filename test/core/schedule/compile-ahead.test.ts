import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { Type } from 'typebox'
import { compileAhead } from '../../../src/core/schedule/compile-ahead.js'
import { issuesOf } from '../../../src/core/schema.js'

t.test('schemas are compiled before their first use, one between two pauses, until the daemon closes', async (t) => {
  const compiled: unknown[] = []
  const { compile } = Ajv2020.prototype
  t.capture(Ajv2020.prototype, 'compile', function (this: Ajv2020, schema: object) {
    compiled.push(schema)
    return compile.call(this, schema)
  })
  const [used, ...later] = ['a', 'b', 'c'].map((name) => Type.Object({ [name]: Type.String() }))
  const checks = [used!, ...later].map((schema) => issuesOf(schema))
  const ofFile = Type.Object({ file: Type.String() })
  issuesOf(ofFile, { ahead: false })
  t.same(checks[0]?.({ a: '' }), [])
  t.same(compiled, [used])

  const closing = new AbortController()
  let pauses = 0
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    async sleep() {
      t.ok(compiled.length <= 1 + pauses, 'one at a time')
      if (++pauses === 3) closing.abort()
      closing.signal.throwIfAborted()
    },
  }
  await compileAhead(clock, closing.signal)
  t.equal(pauses, 3)
  await compileAhead({ ...clock, sleep: async () => {} }, new AbortController().signal)
  for (const schema of later) t.equal(compiled.filter((one) => one === schema).length, 2, 'with and without all errors')
  t.notOk(compiled.includes(ofFile))
  compiled.length = 0
  t.same(checks[1]?.({ b: '' }), [])
  t.match(checks[1]?.({ b: 1 }), [{ pointer: '/b' }])
  t.same(compiled, [])
})
