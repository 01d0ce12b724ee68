/** Parts of products that edged has otherwise, by their paths below an account or zone, with an alternative. */
const NO_PARTS: readonly (readonly [path: RegExp, text: string])[] = [
  [
    /^logs\/explorer(?:\/|$)/,
    'Log Explorer does not exist on this server; send the records to a database with a log push job, or read GET .../edged/requests',
  ],
  [
    /^logs\/control\/cmb(?:\/|$)/,
    'The Customer Metadata Boundary does not exist on this server, which keeps the records itself',
  ],
  [
    /^logpush\/transformers(?:\/|$)/,
    'Transformers of log push do not exist on this server; use output_options of the job, or a pipeline with a module',
  ],
  [
    /^workers\/observability(?:\/|$)/,
    'Workers Logs cannot be queried on this server; use wrangler tail, or a log push job of workers_trace_events',
  ],
  [
    /^r2\/temp-access-credentials(?:\/|$)/,
    'The S3 API of buckets does not exist on this server; use the API with a token, or a binding of a Worker',
  ],
  [
    /^ssl\/(?:analyze|certificate_packs\/order)(?:\/|$)/,
    'Certificates are not ordered or uploaded through the API; set proxy.tls.acme or proxy.tls.certificates in the configuration',
  ],
  [/^settings\/zaraz(?:\/|$)/, 'edged does not have this product: Zaraz'],
]

/** Products of the public API that edged does not have, by their paths below an account, with an alternative. */
const NOT_OFFERED: readonly (readonly [path: RegExp, text: string])[] = [
  [
    /^workflows(?:\/|$)/,
    'Workflows do not run on this server; remove "workflows" from the configuration of the Worker, or use Durable Objects with alarms or a queue',
  ],
  [
    /^(?:containers|cloudchamber)(?:\/|$)/,
    'Containers do not run on this server; remove "containers" from the configuration of the Worker, or run the container beside edged as an origin',
  ],
  [
    /^(?:workers\/)?dispatch(?:\/|$)/,
    'Dispatch namespaces do not exist on this server; upload the script with PUT .../workers/scripts/NAME and give it a route or a domain',
  ],
  [
    /^pages(?:\/|$)/,
    'Pages projects do not exist on this server; deploy the site as a Worker with static assets: wrangler deploy --assets FOLDER',
  ],
  [/^(?:ai|ai-gateway)(?:\/|$)/, 'AI models do not run on this server; call the API of a provider with fetch()'],
  [/^vectorize(?:\/|$)/, 'Vectorize does not exist on this server; call a vector database with fetch()'],
  [
    /^browser-rendering(?:\/|$)/,
    'Browser Rendering does not exist on this server; call a browser service with fetch()',
  ],
  [
    /^r2\/buckets\/[^/]+\/sippy(?:\/|$)/,
    'Sippy does not exist on this server; copy the objects with the API or with a Worker',
  ],
  [
    /^event_(?:notifications|subscriptions)(?:\/|$)/,
    'Event notifications do not exist on this server; send to a queue from the Worker that makes the change',
  ],
  [
    /^d1\/database\/[^/]+\/time_travel(?:\/|$)/,
    'Time Travel does not exist on this server; export the database with wrangler d1 export, or save all data with edged backup',
  ],
  [
    /^connectivity(?:\/|$)/,
    'VPC services do not exist on this server; reach private addresses with egress.allow_cidrs',
  ],
]

/** Further products, which have nothing in their place, by the first segment of their paths below an account or zone. */
const PRODUCTS: Readonly<Record<string, string>> = {
  access: 'Access',
  acm: 'Advanced Certificate Manager',
  addressing: 'address management',
  alerting: 'Notifications',
  api_gateway: 'API Shield',
  billing: 'billing',
  bot_management: 'Bot Management',
  botnet_feed: 'the botnet threat feed',
  'brand-protection': 'Brand Protection',
  calls: 'Calls',
  cfd_tunnel: 'Tunnel',
  challenges: 'Turnstile',
  client_certificates: 'issued client certificates',
  cloud_connector: 'Cloud Connector',
  'cloudforce-one': 'Cloudforce One',
  'content-upload-scan': 'the scan of uploaded content',
  custom_certificates: 'certificates uploaded through the API',
  devices: 'WARP devices',
  dex: 'Digital Experience Monitoring',
  diagnostics: 'diagnostics',
  dlp: 'Data Loss Prevention',
  dns_analytics: 'DNS analytics',
  dns_firewall: 'DNS Firewall',
  dns_records: 'DNS records',
  dns_settings: 'DNS settings',
  dnssec: 'DNSSEC',
  email: 'Email Routing',
  'email-security': 'Email Security',
  fraud: 'Fraud Detection',
  gateway: 'Gateway',
  healthchecks: 'Health Checks through the API',
  images: 'Images',
  infrastructure: 'infrastructure targets',
  intel: 'threat intelligence',
  keyless_certificates: 'Keyless SSL',
  'leaked-credential-checks': 'the check for leaked credentials',
  load_balancers: 'Load Balancing through the API',
  magic: 'Magic Transit and Magic WAN',
  mnm: 'Network Monitoring',
  mtls_certificates: 'mTLS certificates of the account',
  origin_tls_client_auth: 'authenticated origin pulls',
  page_shield: 'Page Shield',
  pcaps: 'packet captures',
  pipelines: 'Pipelines through the API',
  'r2-catalog': 'R2 Data Catalog',
  registrar: 'Registrar',
  rum: 'Web Analytics',
  secondary_dns: 'secondary DNS',
  'security-center': 'Security Center',
  snippets: 'Snippets',
  spectrum: 'Spectrum',
  speed_api: 'Observatory',
  stream: 'Stream',
  subscriptions: 'subscriptions',
  teamnet: 'private networks',
  tunnels: 'Tunnel',
  urlscanner: 'URL Scanner',
  waiting_rooms: 'Waiting Room',
  warp_connector: 'WARP Connector',
  web3: 'Web3 gateways',
  zaraz: 'Zaraz',
  zerotrust: 'Zero Trust',
}

/** Replacements of old products, and of products whose work another part of edged does. */
const INSTEAD: Readonly<Record<string, string>> = {
  custom_certificates: 'name the files in proxy.tls.certificates of the configuration',
  client_certificates: 'set client_ca_file of the zone in the configuration',
  healthchecks: 'set health of the zone in the configuration',
  load_balancers: 'set origins and balance of the zone in the configuration',
  mtls_certificates: 'set client_ca_file of the zone in the configuration',
  pipelines: 'name the documents in pipelines of the configuration',
}

/** Older forms of rules. */
const OLD_RULES: Readonly<Record<string, string>> = {
  filters: 'Filters',
  firewall: 'Firewall rules of the old form',
  pagerules: 'Page Rules',
  rate_limits: 'Rate limits of the old form',
}

/** Returns why a path of the public API does not exist here. Undefined for all other paths. */
export function notOffered(path: string): string | undefined {
  const [, scope, below = ''] = /^(?:\/client\/v4)?\/(accounts|zones)\/[^/]+\/(.*)$/.exec(path) ?? []
  if (scope === undefined) return undefined
  const rows = scope === 'accounts' ? [...NOT_OFFERED, ...NO_PARTS] : NO_PARTS
  const special = rows.find(([prefix]) => prefix.test(below))?.[1]
  const [product = ''] = below.split('/', 1)
  const old = entry(OLD_RULES, product)
  if (old !== undefined) return `${old} do not exist on this server; use rulesets`
  const name = entry(PRODUCTS, product)
  if (special !== undefined || name === undefined) return special
  const instead = entry(INSTEAD, product)
  return `edged does not have this product: ${name}${instead === undefined ? '' : `; ${instead}`}`
}

/** Clients choose the name: members of the prototype do not count. */
const entry = (table: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined
