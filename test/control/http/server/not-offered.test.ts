import t from 'tap'
import { notOffered } from '../../../../control/http/server/not-offered.js'
import { ACCOUNT, client, ZONE } from '../../client.js'

t.test('products that do not exist here are refused with what to do instead', async (t) => {
  const { call } = await client(t)
  for (const [method, path, text] of [
    ['PUT', 'workflows/orders', /^Workflows do not run on this server; remove "workflows"/],
    ['GET', 'containers/me', /^Containers do not run/],
    ['GET', 'cloudchamber/applications', /^Containers do not run/],
    ['GET', 'workers/dispatch/namespaces', /^Dispatch namespaces do not exist/],
    ['PUT', 'workers/dispatch/namespaces/a/scripts/b', /^Dispatch namespaces do not exist/],
    ['GET', 'pages/projects', /^Pages projects do not exist .* wrangler deploy --assets/],
    ['POST', 'vectorize/v2/indexes', /^Vectorize does not exist/],
    ['PUT', 'r2/buckets/files/sippy', /^Sippy does not exist .* Worker/],
    ['GET', 'event_notifications/r2/files/configuration', /^Event notifications do not exist .* queue/],
    ['GET', 'd1/database/a/time_travel/bookmark', /^Time Travel does not exist .* edged backup/],
    ['GET', 'connectivity/directory/services', /^VPC services do not exist .* egress.allow_cidrs/],
  ] as const) {
    const { status, body } = await call(method, `/accounts/${ACCOUNT}/${path}`)
    t.match([status, body.success, body.errors], [404, false, [{ code: 7003, message: text }, { code: 7000 }]], path)
  }
  for (const [path, text] of [
    [`/accounts/${ACCOUNT}/images/v1`, /^edged does not have this product: Images$/],
    [`/accounts/${ACCOUNT}/stream`, /^edged does not have this product: Stream$/],
    [`/accounts/${ACCOUNT}/r2-catalog/files`, /^edged does not have this product: R2 Data Catalog$/],
    [`/accounts/${ACCOUNT}/pipelines`, /^edged does not have .*; name the documents in pipelines/],
    [`/accounts/${ACCOUNT}/mtls_certificates`, /^edged does not have this product: mTLS/],
    [`/accounts/${ACCOUNT}/logs/explorer/datasets`, /^Log Explorer does not exist .* log push job/],
    [`/zones/${ZONE}/logs/explorer/datasets`, /^Log Explorer does not exist/],
    [`/accounts/${ACCOUNT}/logs/control/cmb/config`, /^The Customer Metadata Boundary/],
    [`/accounts/${ACCOUNT}/logpush/transformers`, /^Transformers of log push do not exist .* output_options/],
    [`/accounts/${ACCOUNT}/workers/observability/destinations`, /^Workers Logs cannot be queried .* wrangler tail/],
    [`/accounts/${ACCOUNT}/r2/temp-access-credentials`, /^The S3 API of buckets does not exist/],
    [`/zones/${ZONE}/ssl/analyze`, /proxy\.tls\.acme/],
    [`/zones/${ZONE}/dns_records`, /^edged does not have this product: DNS records$/],
    [`/zones/${ZONE}/pagerules`, /^Page Rules do not exist on this server; use rulesets$/],
  ] as const) {
    const { status, body } = await call('GET', path)
    t.match([status, body.errors], [404, [{ code: 7003, message: text }, { code: 7000 }]], path)
  }
  for (const path of ['/accounts/x/constructor', '/accounts/x/pagesX', '/zones/x/pages', '/accounts/x', '/pages'])
    t.equal(notOffered(path), undefined)
})
