import t from 'tap'
import { tailSource } from '../../../control/logpush/tail.js'

t.test('a session on a dataset writes its records with the given options', async (t) => {
  const compiled = (input: object) => tailSource({ dataset: 'http_requests', ...input }, []).compile('seed')
  const { dataset, writes } = compiled({ output_options: { field_names: ['RayID', 'ClientIP'] } })
  t.equal(dataset.name, 'http_requests')
  t.equal(writes.length, 2)
  t.equal(compiled({ fields: 'RayID', output_options: { field_names: ['RayID', 'ClientIP'] } }).writes.length, 1)
  t.match(
    t.throws(() => compiled({ output_options: { field_names: ['None'] } })),
    { issues: [{}] },
  )
})
