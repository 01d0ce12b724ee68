import t from 'tap'
import { readConfig } from '../../src/config/load.js'
import { listYaml } from '../../ui/src/pages/lists/list.ts'
import { jobYaml } from '../../ui/src/pages/logs/job-yaml.ts'
import { zoneYaml } from '../../ui/src/pages/zones/zone-yaml.ts'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'

/** Returns the configuration of a file with copied items in one of its parts. */
const configOf = (part: string, copied: string, rest = '') =>
  readConfig(`data: ./data\naccounts: [{ id: ${ACCOUNT}, name: A }]\n${rest}${part}:\n${copied}`, 'edged.yaml', {})

t.test('a copied zone is a zone of the configuration file, with the settings of the API', async (t) => {
  const zone = {
    id: ZONE,
    name: 'shop.test',
    account: { id: ACCOUNT, name: 'A' },
    plan: { id: 'business', name: 'Business' },
    edged: { origin: 'http://127.0.0.1:9000' },
  }
  const copied = zoneYaml(zone, [
    { id: 'content_converter', value: 'on', source: 'api' },
    { id: 'min_tls_version', value: '1.0', source: 'default' },
  ])
  t.notMatch(copied, 'min_tls_version')
  t.match(configOf('zones', copied).zones, [
    { id: ZONE, name: 'shop.test', plan: 'business', settings: { content_converter: 'on' } },
  ])
})

t.test('a copied list is a list of the configuration file', async (t) => {
  const at = '2026-11-21T12:00:00Z'
  const ips = [{ id: '1', ip: '10.0.0.0/24', comment: "Second floor: it's ours #1", created_on: at, modified_on: at }]
  const hosts = [{ id: '2', hostname: { url_hostname: '*.example.com' }, created_on: at }]
  const copied = [
    listYaml({ name: 'office', kind: 'ip' }, ips),
    listYaml({ name: 'names', kind: 'hostname' }, hosts),
    listYaml({ name: 'none', kind: 'asn' }, []),
  ]
  t.match(
    configOf('lists', copied.join('')).lists.map(({ name, kind, items }) => [name, kind, items.length]),
    [
      ['office', 'ip', 1],
      ['names', 'hostname', 1],
      ['none', 'asn', 0],
    ],
  )
})

t.test('a copied log job is a pipeline of the configuration file', async (t) => {
  const job = {
    dataset: 'http_requests',
    filter: '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":400}}',
    output_options: { field_names: ['RayID', 'ClientIP'], timestamp_format: 'rfc3339' },
    max_upload_interval_seconds: 60,
    max_upload_records: 1000,
    max_upload_bytes: 0,
    owner: { type: 'zone', path: `/zones/${ZONE}` },
  } as const
  const copied = jobYaml(job, 'siem all', 'https://logs.example.com/in?header_Authorization=***')
  t.match(copied, /^# \*\*\* stands for a secret/)
  const zones = `zones: [{ id: ${ZONE}, account: ${ACCOUNT}, name: shop.test, origin: demo }]\n`
  t.equal(configOf('pipelines', copied, zones).pipelines.length, 1)
})
