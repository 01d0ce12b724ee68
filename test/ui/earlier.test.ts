import t from 'tap'
import { earlierOf } from '../../ui/src/shell/earlier.ts'

t.test('earlier addresses name pages of today', async (t) => {
  t.strictSame(earlierOf('#/rulesets?zone=abc'), { place: '/z/abc', page: 'rules' })
  t.strictSame(earlierOf('/logpush?account=a%2Fb'), { place: '/a/a%2Fb', page: 'logs' })
  t.strictSame(earlierOf('#/'), { place: undefined, page: 'overview' })
  t.equal(earlierOf(''), undefined)
  t.equal(earlierOf('#page'), undefined)
})
