import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { Type } from 'typebox'
import { compileAhead } from '../../../src/core/schedule/compile-ahead.js'
import { issuesOf } from '../../../src/core/schema.js'

t.test('schemas are compiled before their first use, in slices between pauses, until the daemon closes', async (t) => {
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
  let time = 0
  const clock = {
    now: () => 0,
    // Each schema takes longer than a slice.
    monotonic: () => (time += 10),
    async sleep() {
      t.ok(compiled.length <= 1 + pauses, 'one at a time')
      if (++pauses === 3) closing.abort()
      closing.signal.throwIfAborted()
    },
  }
  await compileAhead(clock, closing.signal)
  t.equal(pauses, 3)
  const slices: number[] = []
  const sleep = async () => void slices.push(compiled.length)
  await compileAhead({ ...clock, monotonic: () => 0, sleep }, new AbortController().signal)
  t.equal(slices.length, 1, 'schemas that take no time need one slice')
  for (const schema of later) t.equal(compiled.filter((one) => one === schema).length, 1)
  t.notOk(compiled.includes(ofFile))
  compiled.length = 0
  t.same(checks[1]?.({ b: '' }), [])
  t.same(compiled, [])
  t.match(checks[1]?.({ b: 1 }), [{ pointer: '/b' }])
  t.same(compiled, [later[0]], 'all errors are found by a checker of its own, which is rarely needed')
})
