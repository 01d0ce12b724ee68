import t from 'tap'
import { auditValues } from '../../../src/core/audit/audit-values.js'

const rule = (id: string, action: string, expression = 'true') => ({
  id,
  action,
  expression,
  description: `Rule ${id}`,
})
const rules = (count: number, action = 'log') => Array.from({ length: count }, (_, index) => rule(`r${index}`, action))

t.test('a small record is whole on both sides, without its secrets', async (t) => {
  const before = {
    id: 'a',
    secret: { sealed: 'v1.abc' },
    hash: 'f00d',
    list: [{ value: { sealed: 'x' } }],
    gone: undefined,
  }
  t.strictSame(auditValues(before, { ...before, secret: { sealed: 'v1.def' } }, ['hash']), {
    before: { id: 'a', secret: '***', hash: '***', list: [{ value: '***' }] },
    after: { id: 'a', secret: '***', hash: '***', list: [{ value: '***' }] },
    extent: 'whole',
  })
  t.strictSame(auditValues(undefined, { on: true, none: null, n: 1 }), {
    before: undefined,
    after: { on: true, none: null, n: 1 },
    extent: 'whole',
  })
})

t.test('of a large record both sides have only what differs', async (t) => {
  const before = { id: 'set', name: 'default', version: '1', rules: rules(500) }
  const changed = before.rules.map((each) => (each.id === 'r7' ? { ...each, action: 'block' } : each))
  t.strictSame(auditValues(before, { ...before, version: '2', rules: [...changed, rule('new', 'log')] }), {
    before: { id: 'set', name: 'default', version: '1', rules: [{ id: 'r7', action: 'log', description: 'Rule r7' }] },
    after: {
      id: 'set',
      name: 'default',
      version: '2',
      rules: [{ id: 'r7', action: 'block', description: 'Rule r7' }, rule('new', 'log')],
    },
    extent: 'changes',
  })
  const without = { ...before, rules: before.rules.slice(1) }
  t.match(auditValues(before, without), {
    before: { rules: [rule('r0', 'log')] },
    after: { rules: [] },
    extent: 'changes',
  })
})

t.test('moved items have their ids on both sides', async (t) => {
  const texts = { text: 'x'.repeat(5000) }
  const [one, two, three] = ['1', '2', '3'].map((id) => ({ id, ...texts }))
  t.strictSame(auditValues({ rules: [one, two, three] }, { rules: [three, one, two] }), {
    before: { rules: [{ id: '1' }, { id: '2' }, { id: '3' }] },
    after: { rules: [{ id: '3' }, { id: '1' }, { id: '2' }] },
    extent: 'changes',
  })
})

t.test('changes that are too large have their beginning, of bounded size', async (t) => {
  const { before, after, extent } = auditValues({ rules: rules(500) }, { rules: rules(500, 'block') })
  t.equal(extent, 'part')
  for (const side of [before, after]) {
    t.ok(JSON.stringify(side).length < 4500)
    t.ok(JSON.stringify(side).length > 3000)
  }
  const created = auditValues(undefined, { text: 'x'.repeat(10_000), list: ['y'.repeat(600)] })
  t.strictSame(created, {
    before: undefined,
    after: { text: `${'x'.repeat(512)}…`, list: [`${'y'.repeat(512)}…`] },
    extent: 'part',
  })
})

t.test('secrets are masked in large records too', async (t) => {
  const before = { token: { sealed: 'old' }, hash: '1', text: 'x'.repeat(9000) }
  const after = { token: { sealed: 'new' }, hash: '2', text: before.text }
  t.strictSame(auditValues(before, after, ['hash']), {
    before: { token: '***', hash: '***' },
    after: { token: '***', hash: '***' },
    extent: 'changes',
  })
})
