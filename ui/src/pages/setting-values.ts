/** Settings of zones with more values than `on` and `off`, and their values. */
export const SETTING_VALUES: Readonly<Record<string, readonly string[]>> = {
  cache_level: ['aggressive', 'basic', 'simplified'],
  h2_prioritization: ['on', 'off', 'custom'],
  image_resizing: ['on', 'off', 'open'],
  min_tls_version: ['1.0', '1.1', '1.2', '1.3'],
  origin_max_http_version: ['1', '2'],
  polish: ['off', 'lossless', 'lossy'],
  pseudo_ipv4: ['off', 'add_header', 'overwrite_header'],
  security_level: ['off', 'essentially_off', 'low', 'medium', 'high', 'under_attack'],
  ssl: ['off', 'flexible', 'full', 'strict', 'origin_pull'],
  tls_1_3: ['on', 'off', 'zrt'],
}
