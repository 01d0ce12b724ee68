/** The topics of settings, in the order in which people see them. */
export const TOPICS = ['General', 'Markdown', 'Cache', 'HTTPS', 'Security', 'Network', 'Compression'] as const
export type Topic = (typeof TOPICS)[number]

/** How a setting is called and what it does, for people. */
export interface SettingText {
  readonly topic: Topic
  readonly title: string
  readonly description: string
}

const text = (topic: Topic, title: string, description: string): SettingText => ({ topic, title, description })

/** By the id of the setting. */
export const SETTING_TEXTS: Readonly<Record<string, SettingText>> = {
  content_converter: text('Markdown', 'Markdown for agents', 'Agents that ask for text/markdown get Markdown.'),
  edged_custom_hostnames: text(
    'Markdown',
    'Markdown on custom hostnames',
    'Whether all custom hostnames are converted, or those whose metadata say so.',
  ),
  security_level: text('Security', 'Security level', 'off and essentially_off switch challenges off.'),
  always_online: text('Cache', 'Always online', 'Stale responses are served while the origin fails.'),
  browser_cache_ttl: text(
    'Cache',
    'Browser cache TTL',
    'Least number of seconds for which browsers keep cached responses. 0: as the origin says.',
  ),
  cache_level: text('Cache', 'Caching level', 'How query strings distinguish cached responses.'),
  development_mode: text('Cache', 'Development mode', 'Nothing is served from the cache for three hours.'),
  sort_query_string_for_cache: text(
    'Cache',
    'Sort query strings',
    'Query strings with the same parameters in another order share a cached response.',
  ),
  always_use_https: text('HTTPS', 'Always use HTTPS', 'Requests over HTTP are redirected to HTTPS.'),
  http2: text('HTTPS', 'HTTP/2', 'Clients may use HTTP/2.'),
  min_tls_version: text('HTTPS', 'Minimum TLS version', 'Older handshakes are refused.'),
  security_header: text('HTTPS', 'HSTS', 'Browsers use HTTPS only, for a time.'),
  ssl: text(
    'HTTPS',
    'Encryption to the origin',
    'Whether the origin is asked over TLS, and its certificate is checked.',
  ),
  websockets: text('Network', 'WebSockets', 'Clients may open WebSockets to the origin.'),

  '0rtt': text('HTTPS', '0-RTT', 'Data in the first flight of a handshake.'),
  automatic_https_rewrites: text('HTTPS', 'Automatic HTTPS rewrites', 'Links in pages are changed to HTTPS.'),
  brotli: text('Compression', 'Brotli', 'Responses are compressed with Brotli. Use compression rules.'),
  browser_check: text('Security', 'Browser integrity check', 'Requests with unusual header fields are refused.'),
  challenge_ttl: text('Security', 'Challenge passage', 'Seconds for which a passed challenge counts.'),
  ciphers: text('HTTPS', 'Cipher suites', 'The cipher suites that clients may use.'),
  early_hints: text('Network', 'Early hints', 'Responses with status 103 before the page.'),
  email_obfuscation: text('Security', 'E-mail obfuscation', 'E-mail addresses in pages are hidden from bots.'),
  fonts: text('General', 'Fonts', 'Fonts are served from the own domain.'),
  h2_prioritization: text('Network', 'HTTP/2 prioritization', 'The order of responses on one connection.'),
  hotlink_protection: text('Security', 'Hotlink protection', 'Images are not served to pages of other sites.'),
  http3: text('Network', 'HTTP/3', 'Clients may use HTTP/3.'),
  image_resizing: text('General', 'Image resizing', 'Images are resized.'),
  ip_geolocation: text('Network', 'IP geolocation', 'The origin gets the country of the client.'),
  ipv6: text('Network', 'IPv6', 'The site is served over IPv6.'),
  max_upload: text('Network', 'Maximum upload', 'Maximum size of a request body in MB.'),
  mirage: text('General', 'Mirage', 'Images are loaded later on slow connections.'),
  nel: text('Network', 'Network error logging', 'Browsers report network errors.'),
  opportunistic_encryption: text('HTTPS', 'Opportunistic encryption', 'HTTP over TLS without HTTPS addresses.'),
  opportunistic_onion: text('Network', 'Onion routing', 'Visitors of the Tor network use onion services.'),
  orange_to_orange: text('General', 'Orange to orange', 'Custom hostnames pass the settings of their own zone first.'),
  origin_error_page_pass_thru: text('General', 'Pass error pages', 'Error pages of the origin are not replaced.'),
  origin_max_http_version: text('Network', 'HTTP version to the origin', 'Highest version of HTTP to the origin.'),
  polish: text('General', 'Polish', 'Images are compressed.'),
  prefetch_preload: text('Cache', 'Prefetch', 'Addresses of a manifest are fetched ahead.'),
  privacy_pass: text('Security', 'Privacy Pass', 'Tokens of Privacy Pass count as passed challenges.'),
  proxy_read_timeout: text('Network', 'Read timeout', 'Seconds to wait for the origin.'),
  pseudo_ipv4: text('Network', 'Pseudo IPv4', 'An IPv4 address stands for IPv6 addresses of clients.'),
  replace_insecure_js: text('Security', 'Replace insecure libraries', 'Old JavaScript libraries are replaced.'),
  response_buffering: text('Network', 'Response buffering', 'Responses are sent after they are complete.'),
  rocket_loader: text('General', 'Rocket Loader', 'JavaScript is loaded later.'),
  server_side_exclude: text('Security', 'Server-side excludes', 'Marked parts of pages are hidden from bots.'),
  speed_brain: text('Cache', 'Speed Brain', 'Browsers fetch likely next pages.'),
  tls_1_3: text('HTTPS', 'TLS 1.3', 'Clients may use TLS 1.3.'),
  tls_client_auth: text('HTTPS', 'Authenticated origin pulls', 'The origin gets a certificate of the proxy.'),
  true_client_ip_header: text(
    'Network',
    'True-Client-IP',
    'The origin gets the address of the client in True-Client-IP.',
  ),
  waf: text('Security', 'Web application firewall', 'Managed rules of a vendor.'),
  webp: text('General', 'WebP', 'Images are served as WebP.'),
  advanced_ddos: text('Security', 'Advanced DDoS protection', 'Large attacks are filtered by the network of a vendor.'),
  aegis: text('Network', 'Egress addresses', 'The origin is reached from addresses of a pool.'),
  automatic_platform_optimization: text(
    'Cache',
    'Platform optimization',
    'Pages of WordPress are served from the cache.',
  ),
  china_network_enabled: text('Network', 'China network', 'The site is served from data centres in China.'),
  cname_flattening: text('Network', 'CNAME flattening', 'Names that are aliases are resolved to addresses.'),
  edge_cache_ttl: text('Cache', 'Edge cache TTL', 'Seconds for which responses stay in the cache. Use cache rules.'),
  origin_h2_max_streams: text(
    'Network',
    'Streams to the origin',
    'Maximum concurrent requests on one HTTP/2 connection to the origin.',
  ),
  pre_render: text('General', 'Pre-rendering', 'Pages are rendered ahead.'),
  redirects_for_ai_training: text(
    'General',
    'Redirects for AI training',
    'Crawlers that train models are sent to the current page.',
  ),
  search_for_agents: text('General', 'Search for agents', 'Agents may search the site.'),
  ssl_recommender: text('HTTPS', 'SSL recommender', 'Recommendations about the mode of HTTPS to the origin.'),
  sha1_support: text('HTTPS', 'SHA-1 certificates', 'Old clients get a certificate with SHA-1.'),
  tls_1_2_only: text('HTTPS', 'TLS 1.2 only', 'Clients may use only TLS 1.2.'),
  transformations: text('General', 'Transformations', 'Images are transformed by their address.'),
  transformations_allowed_origins: text(
    'General',
    'Origins of transformations',
    'Sites whose images may be transformed.',
  ),
  webmcp_enabled: text('General', 'WebMCP', 'Pages offer tools to agents in the browser.'),
  webmcp_packs: text('General', 'WebMCP packs', 'Groups of tools that pages offer to agents.'),
}
