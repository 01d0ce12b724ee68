const RULE = {
  expression: 'http.request.uri.path eq "/closed"',
  action: 'block',
  description: 'No entry',
}
const FINDING = '7d6f1c52-6a0e-4c6b-9a35-1f0f0a3f6c1e'
const POLICY = {
  effect: 'allow',
  permission_groups: [{ name: 'Zone Settings Write' }],
  resources: { 'com.cloudflare.api.account.zone.9f1839b6152d298aca64c4e906b6d074': '*' },
}
const JOB = {
  name: 'errors',
  dataset: 'http_requests',
  destination_conf: 'https://logs.example.com/in?header_Authorization=Bearer%20TOKEN',
  filter: '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}',
  enabled: true,
}
const DESTINATION = { destination_conf: JOB.destination_conf }
const WEBHOOK = {
  label: 'On call',
  destination_url: 'https://hooks.example.com/edged',
  authentication_type: 'Bearer Auth',
  headers: [{ key: 'Authorization', value: 'Bearer TOKEN' }],
}
const CONSUMER = { type: 'worker', script_name: 'hello' }
const HYPERDRIVE = {
  name: 'orders',
  origin: {
    scheme: 'postgres',
    host: 'db.example.com',
    port: 5432,
    database: 'orders',
    user: 'app',
    password: 'PASSWORD',
  },
}

/** Bodies of examples by method and path, without the account or zone in front. */
export const BODIES = {
  'post /zones': {
    name: 'shop.example.com',
    account: { id: '023e105f4ecef8ad9ca31a8372d0c353' },
    edged: { origin: 'https://origin.example.net', plan: 'pro' },
  },
  'patch /zones/{zone_id}': { paused: true },
  'post /user/tokens': { name: 'ci', policies: [POLICY] },
  'put /user/tokens/{token_id}': { name: 'ci', policies: [POLICY], status: 'active' },
  'post /tokens': { name: 'ci', policies: [POLICY] },
  'put /tokens/{token_id}': { name: 'ci', policies: [POLICY], status: 'active' },
  'patch /settings': { items: [{ id: 'content_converter', value: 'on' }] },
  'patch /settings/{setting_id}': { value: 'on' },
  'patch /managed_headers': {
    managed_request_headers: [{ id: 'add_true_client_ip_headers', enabled: true }],
    managed_response_headers: [{ id: 'add_security_headers', enabled: true }],
  },
  'put /url_normalization': { scope: 'incoming', type: 'cloudflare' },
  'post /purge_cache': { files: ['https://www.example.com/style.css'] },
  'post /custom_hostnames': { hostname: 'docs.customer.com' },
  'patch /custom_hostnames/{custom_hostname_id}': { custom_metadata: { content_converter: 'enabled' } },
  'put /custom_hostnames/fallback_origin': { origin: 'origin.example.com' },
  'post /rulesets': { name: 'My ruleset', kind: 'custom', phase: 'http_request_firewall_custom', rules: [RULE] },
  'put /rulesets/{ruleset_id}': { rules: [RULE] },
  'put /rulesets/phases/{ruleset_phase}/entrypoint': { rules: [RULE] },
  'post /rulesets/{ruleset_id}/rules': { ...RULE, position: { index: 1 } },
  'patch /rulesets/{ruleset_id}/rules/{rule_id}': { ...RULE, enabled: false },
  'post /rules/lists': { name: 'office', kind: 'ip' },
  'post /rules/lists/{list_id}/items': [{ ip: '203.0.113.0/24', comment: 'Berlin' }],
  'put /rules/lists/{list_id}/items': [{ ip: '203.0.113.0/24', comment: 'Berlin' }],
  'post /request-tracer/trace': { method: 'GET', url: 'https://www.example.com/closed' },
  'post /edged/expressions/check': { expression: RULE.expression },
  'post /edged/expressions/parse': { expression: RULE.expression },
  'post /edged/rules/dry-run': { expression: RULE.expression, phase: 'http_request_firewall_custom' },
  'post /edged/convert': { html: '<h1>Title</h1><p>Text</p>' },
  'post /edged/try': { path: '/' },
  'post /logpush/jobs': JOB,
  'put /logpush/jobs/{job_id}': { enabled: false },
  'post /logpush/edge/jobs': { fields: 'RayID,EdgeResponseStatus', sample: 1 },
  'post /logpush/ownership': DESTINATION,
  'post /logpush/ownership/validate': { ...DESTINATION, ownership_challenge: 'CHALLENGE' },
  'post /logpush/validate/destination': DESTINATION,
  'post /logpush/validate/destination/exists': DESTINATION,
  'post /data-security/posture/webhooks': WEBHOOK,
  'put /data-security/posture/webhooks/{webhook_id}': { ...WEBHOOK, status: 'enabled' },
  'post /data-security/posture/webhooks/evaluate': {
    destination_url: WEBHOOK.destination_url,
    authentication_type: 'None',
  },
  'post /data-security/posture/webhooks/jobs': { finding_instance_ids: [FINDING], webhook_ids: [FINDING] },
  'post /workers/routes': { pattern: 'www.example.com/api/*', script: 'hello' },
  'put /workers/routes/{route_id}': { pattern: 'www.example.com/api/*', script: 'hello' },
  'put /workers/domains': {
    hostname: 'api.example.com',
    service: 'hello',
    zone_id: '9f1839b6152d298aca64c4e906b6d074',
    environment: 'production',
  },
  'put /workers/scripts/{script_name}/schedules': [{ cron: '*/5 * * * *' }],
  'put /workers/scripts/{script_name}/secrets': { name: 'API_KEY', type: 'secret_text', text: 'SECRET' },
  'post /workers/scripts/{script_name}/deployments': {
    strategy: 'percentage',
    versions: [{ version_id: FINDING, percentage: 100 }],
  },
  'post /storage/kv/namespaces': { title: 'sessions' },
  'put /storage/kv/namespaces/{namespace_id}': { title: 'sessions' },
  'put /storage/kv/namespaces/{namespace_id}/bulk': [{ key: 'user:1', value: 'Ada' }],
  'delete /storage/kv/namespaces/{namespace_id}/bulk': ['user:1'],
  'post /storage/kv/namespaces/{namespace_id}/bulk/delete': ['user:1'],
  'post /storage/kv/namespaces/{namespace_id}/bulk/get': { keys: ['user:1'] },
  'post /d1/database': { name: 'orders' },
  'post /d1/database/{database_id}/query': { sql: 'SELECT * FROM orders WHERE id = ?', params: ['1'] },
  'post /d1/database/{database_id}/raw': { sql: 'SELECT * FROM orders WHERE id = ?', params: ['1'] },
  'post /r2/buckets': { name: 'pictures' },
  'post /queues': { queue_name: 'mail' },
  'patch /queues/{queue_id}': { queue_name: 'mail' },
  'post /queues/{queue_id}/consumers': CONSUMER,
  'put /queues/{queue_id}/consumers/{consumer_id}': CONSUMER,
  'post /queues/{queue_id}/messages': { body: 'Hello' },
  'post /secrets_store/stores': { name: 'main' },
  'post /hyperdrive/configs': HYPERDRIVE,
  'put /hyperdrive/configs/{hyperdrive_id}': HYPERDRIVE,
}

const NDJSON = `-H 'Content-Type: application/x-ndjson' --data-binary`

/** Arguments of curl for bodies that are not JSON. */
export const RAW = {
  'post /edged/records/{dataset}': `${NDJSON} @records.ndjson`,
  'post /edged/findings': `${NDJSON} @findings.ndjson`,
  'put /storage/kv/namespaces/{namespace_id}/values/{key_name}':
    "-H 'Content-Type: application/octet-stream' --data-binary 'Ada'",
  'put /r2/buckets/{bucket_name}/objects/{object_key}':
    "-H 'Content-Type: application/octet-stream' --data-binary @cat.png",
  'put /d1/files/{file_id}': "-H 'Content-Type: application/sql' --data-binary @dump.sql",
  'post /workers/assets/upload': "-F 'HASH=@index.html;type=text/html'",
  'put /workers/scripts/{script_name}': `-F 'metadata={"main_module":"hello.mjs"};type=application/json' -F 'hello.mjs=@hello.mjs;type=application/javascript+module'`,
  'post /workers/scripts/{script_name}/versions': `-F 'metadata={"main_module":"hello.mjs"};type=application/json' -F 'hello.mjs=@hello.mjs;type=application/javascript+module'`,
  'put /workers/scripts/{script_name}/content': `-F 'metadata={"main_module":"hello.mjs"};type=application/json' -F 'hello.mjs=@hello.mjs;type=application/javascript+module'`,
  'patch /workers/scripts/{script_name}/settings': `-F 'settings={"logpush":true};type=application/json'`,
}
