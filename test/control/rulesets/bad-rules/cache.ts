import { bad, type BadRule } from './bad-rule.js'

const query = (change: object) => ({ cache_key: { custom_key: { query_string: change } } })

const QUERY = '/cache_key/custom_key/query_string'

const ttl = (change: object) => ({ edge_ttl: { mode: 'respect_origin', status_code_ttl: [change] } })

const TTL = '/edge_ttl/status_code_ttl/0'

const vary = (headers: object) => ({ vary: { default: { action: 'bypass' }, headers } })

/** Actions about the cache. */
export const BAD_CACHE: readonly BadRule[] = [
  ...bad(
    'http_response_cache_settings',
    'set_cache_control',
    ['no parameters', undefined, ''],
    ['nothing', {}, ''],
    ['an unknown directive', { 'only-if-cached': { operation: 'set' } }, '/only-if-cached'],
    ['no operation', { public: {} }, '/public/operation'],
    ['an unknown operation', { public: { operation: 'add' } }, '/public/operation'],
    ['seconds of public', { public: { operation: 'set', value: 1 } }, '/public/value'],
    ['no seconds', { 'max-age': { operation: 'set' } }, '/max-age/value'],
    ['no seconds of a shared cache', { 's-maxage': { operation: 'set' } }, '/s-maxage/value'],
    ['negative seconds', { 'stale-if-error': { operation: 'set', value: -1 } }, '/stale-if-error/value'],
    ['seconds to remove', { 'max-age': { operation: 'remove', value: 1 } }, '/max-age/value'],
    ['qualifiers of no-store', { 'no-store': { operation: 'set', qualifiers: ['a'] } }, '/no-store/qualifiers'],
    ['qualifiers to remove', { private: { operation: 'remove', qualifiers: ['a'] } }, '/private/qualifiers'],
    [
      'a qualifier that is no header',
      { 'no-cache': { operation: 'set', qualifiers: ['a b'] } },
      '/no-cache/qualifiers/0',
    ],
    ['a flag as text', { public: { operation: 'set', vendor_only: 'yes' } }, '/public/vendor_only'],
    [
      'both names of the flag',
      { public: { operation: 'set', vendor_only: true, cloudflare_only: true } },
      '/public/cloudflare_only',
    ],
  ),
  ...bad(
    'http_response_cache_settings',
    'set_cache_tags',
    ['no parameters', undefined, ''],
    ['no operation', { values: ['a'] }, '/operation'],
    ['an unknown operation', { operation: 'append', values: ['a'] }, '/operation'],
    ['no values', { operation: 'add' }, '/values'],
    ['an empty list', { operation: 'add', values: [] }, '/values'],
    ['an empty tag', { operation: 'add', values: ['a', ''] }, '/values/1'],
    ['values and expression', { operation: 'add', values: ['a'], expression: 'b' }, '/expression'],
    ['an empty expression', { operation: 'add', expression: '' }, '/expression'],
  ),
  ...bad(
    'http_response_cache_settings',
    'set_cache_settings',
    ['what concerns requests', { cache: true, strip_etags: true }, '/cache'],
    [
      'two things that concern requests',
      { read_timeout: 100, vary: { default: { action: 'bypass' } } },
      '/read_timeout',
      '/vary',
    ],
  ),
  ...bad(
    'http_request_cache_settings',
    'set_cache_settings',
    ['no parameters', undefined, ''],
    ['nothing', {}, ''],
    ['an unknown member', { cached: true }, '/cached'],
    ['cache as text', { cache: 'yes' }, '/cache'],
    ['no ports', { additional_cacheable_ports: [] }, '/additional_cacheable_ports'],
    ['port 0', { additional_cacheable_ports: [80, 0] }, '/additional_cacheable_ports/1'],
    ['no browser mode', { browser_ttl: { default: 1 } }, '/browser_ttl/mode'],
    ['an unknown browser mode', { browser_ttl: { mode: 'on' } }, '/browser_ttl/mode'],
    ['a browser override without seconds', { browser_ttl: { mode: 'override_origin' } }, '/browser_ttl/default'],
    ['bypass at the edge', { edge_ttl: { mode: 'bypass' } }, '/edge_ttl/mode'],
    ['an edge override without seconds', { edge_ttl: { mode: 'override_origin' } }, '/edge_ttl/default'],
    ['negative seconds', { edge_ttl: { mode: 'override_origin', default: -1 } }, '/edge_ttl/default'],
    ['no status rules', { edge_ttl: { mode: 'respect_origin', status_code_ttl: [] } }, '/edge_ttl/status_code_ttl'],
    ['a status rule without seconds', ttl({ status_code: 200 }), `${TTL}/value`],
    ['a status rule of -2 seconds', ttl({ status_code: 200, value: -2 }), `${TTL}/value`],
    ['a status rule without a status', ttl({ value: 1 }), `${TTL}/status_code`],
    [
      'a status rule with status and range',
      ttl({ value: 1, status_code: 200, status_code_range: { from: 200 } }),
      `${TTL}/status_code_range`,
    ],
    ['status 99', ttl({ value: 1, status_code: 99 }), `${TTL}/status_code`],
    ['an empty range', ttl({ value: 1, status_code_range: {} }), `${TTL}/status_code_range`],
    ['a range backwards', ttl({ value: 1, status_code_range: { from: 500, to: 400 } }), `${TTL}/status_code_range/to`],
    ['include and exclude', query({ include: { all: true }, exclude: { list: ['a'] } }), `${QUERY}/exclude`],
    ['neither include nor exclude', query({}), `${QUERY}/include`],
    ['all and list', query({ include: { all: true, list: ['a'] } }), `${QUERY}/include/list`],
    ['neither all nor list', query({ exclude: {} }), `${QUERY}/exclude/all`],
    ['all as false', query({ include: { all: false } }), `${QUERY}/include/all`],
    ['an empty list', query({ include: { list: [] } }), `${QUERY}/include/list`],
    [
      'an empty header list',
      { cache_key: { custom_key: { header: { include: [] } } } },
      '/cache_key/custom_key/header/include',
    ],
    [
      'header values that are no list',
      { cache_key: { custom_key: { header: { contains: { a: 'b' } } } } },
      '/cache_key/custom_key/header/contains/a',
    ],
    [
      'no list of a header with a line break',
      { cache_key: { custom_key: { header: { contains: { 'a\nb': 1 } } } } },
      '/cache_key/custom_key/header/contains/a\nb',
    ],
    ['an unknown part of the key', { cache_key: { custom_key: { path: true } } }, '/cache_key/custom_key/path'],
    ['geo as text', { cache_key: { custom_key: { user: { geo: 'DE' } } } }, '/cache_key/custom_key/user/geo'],
    ['a reserve without eligible', { cache_reserve: { minimum_file_size: 1 } }, '/cache_reserve/eligible'],
    [
      'a negative file size',
      { cache_reserve: { eligible: true, minimum_file_size: -1 } },
      '/cache_reserve/minimum_file_size',
    ],
    ['an unknown range mode', { origin_range_requests: { mode: 'auto' } }, '/origin_range_requests/mode'],
    ['a timeout of 99 seconds', { read_timeout: 99 }, '/read_timeout'],
    ['a timeout of 6,001 seconds', { read_timeout: 6001 }, '/read_timeout'],
    ['a dictionary without a pattern', { shared_dictionary: {} }, '/shared_dictionary/match_pattern'],
    ['serve_stale as flag', { serve_stale: true }, '/serve_stale'],
    ['vary without a default', { vary: {} }, '/vary/default'],
    ['vary with an unknown action', { vary: { default: { action: 'keep' } } }, '/vary/default/action'],
    ['vary of a header in capitals', vary({ Accept: { action: 'bypass' } }), '/vary/headers/Accept'],
    ['vary of a name with a line break, and no change', vary({ 'a\nb': null }), '/vary/headers/a\nb'],
    ['vary without an action', vary({ accept: {} }), '/vary/headers/accept/action'],
    [
      'media types of another header',
      vary({ 'x-a': { action: 'normalize', media_types: ['text/html'] } }),
      '/vary/headers/x-a/media_types',
    ],
    [
      'languages of accept',
      vary({ accept: { action: 'normalize', languages: ['de'] } }),
      '/vary/headers/accept/languages',
    ],
    [
      'eleven media types',
      vary({ accept: { action: 'normalize', media_types: Array.from({ length: 11 }, () => 'a/b') } }),
      '/vary/headers/accept/media_types',
    ],
    [
      '51 headers',
      vary(Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`h${index}`, { action: 'bypass' }]))),
      '/vary/headers',
    ],
  ),
]
