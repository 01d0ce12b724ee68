// Eight everyday shapes of rules in three languages, and requests for them.

const pick = (list, at) => list[at % list.length]
const WORDS = ['admin', 'login', 'cart', 'search', 'images', 'static', 'api', 'blog', 'wp-content', 'checkout', 'feed']
const AGENTS = ['sqlmap', 'nikto', 'masscan', 'python-requests', 'Go-http-client', 'HeadlessChrome', 'Scrapy', 'libwww']
const COUNTRIES = ['DE', 'US', 'FR', 'CN', 'BR', 'IN', 'GB', 'RU', 'JP', 'NL', 'SE', 'ZA']

const host = (n) => `shop${n}.example.com`
const word = (n) => `${pick(WORDS, n)}-${n}`
const network = (n) => `${10 + (n % 200)}.${(n * 7) % 256}.${(n * 13) % 256}.0/24`

const SHAPES = [
  (n) => ({
    edged: `http.host eq "${host(n)}" and starts_with(http.request.uri.path, "/${word(n)}/")`,
    cel: `host == "${host(n)}" && path.startsWith("/${word(n)}/")`,
    filtrex: `host == "${host(n)}" and startsWith(path, "/${word(n)}/")`,
  }),
  (n) => ({
    edged: `http.request.uri.path contains "/${word(n)}/"`,
    cel: `path.contains("/${word(n)}/")`,
    filtrex: `contains(path, "/${word(n)}/")`,
  }),
  (n) => ({
    edged: `ip.src in {${network(n)} ${network(n + 1)} ${network(n + 2)}}`,
    cel: `inNetworks(ip, ["${network(n)}", "${network(n + 1)}", "${network(n + 2)}"])`,
    filtrex: `inNetworks(ip, "${network(n)} ${network(n + 1)} ${network(n + 2)}")`,
  }),
  (n) => ({
    edged: `http.user_agent matches r"(?i)${pick(AGENTS, n)}[/ ]${n % 10}\\.[0-9]+"`,
    cel: `ua.matches(r"(?i)${pick(AGENTS, n)}[/ ]${n % 10}\\.[0-9]+")`.replace('(?i)', ''),
    filtrex: `ua ~= "${pick(AGENTS, n)}[/ ]${n % 10}\\\\.[0-9]+"`,
  }),
  (n) => ({
    edged: `ip.src.country in {"${pick(COUNTRIES, n)}" "${pick(COUNTRIES, n + 5)}"} and not ssl`,
    cel: `country in ["${pick(COUNTRIES, n)}", "${pick(COUNTRIES, n + 5)}"] && !ssl`,
    filtrex: `country in ("${pick(COUNTRIES, n)}", "${pick(COUNTRIES, n + 5)}") and not ssl`,
  }),
  (n) => ({
    edged: `any(http.request.headers["x-tag"][*] contains "tag-${n}-")`,
    cel: `tags.exists(t, t.contains("tag-${n}-"))`,
    filtrex: `anyContains(tags, "tag-${n}-")`,
  }),
  (n) => ({
    edged: `(http.request.uri.path eq "/${word(n)}" or http.request.uri.path eq "/${word(n)}/index.html") and http.request.method in {"POST" "PUT"}`,
    cel: `(path == "/${word(n)}" || path == "/${word(n)}/index.html") && method in ["POST", "PUT"]`,
    filtrex: `(path == "/${word(n)}" or path == "/${word(n)}/index.html") and method in ("POST", "PUT")`,
  }),
  (n) => ({
    edged: `cf.edge.server_port eq ${8000 + (n % 1000)} and http.host contains "shop${n}."`,
    cel: `port == ${8000 + (n % 1000)}.0 && host.contains("shop${n}.")`,
    filtrex: `port == ${8000 + (n % 1000)} and contains(host, "shop${n}.")`,
  }),
]

/** `count` rules, the shapes in turn. */
export const rules = (count) => Array.from({ length: count }, (_, n) => pick(SHAPES, n)(n))

/** Requests as plain objects: some match a rule or two, most match none. */
export const requests = Array.from({ length: 64 }, (_, n) => ({
  host: n % 3 === 0 ? host(n * 8) : `www${n}.example.org`,
  path: n % 4 === 0 ? `/${word(n * 8)}/page-${n}.html` : `/articles/2026/11/${n}/a-rather-normal-title.html`,
  method: n % 5 === 0 ? 'POST' : 'GET',
  ua:
    n % 9 === 0
      ? `${pick(AGENTS, n)}/${n % 10}.2`
      : `Mozilla/5.0 (X11; Linux x86_64; rv:14${n % 10}.0) Gecko/20100101 Firefox/14${n % 10}.0`,
  country: pick(COUNTRIES, n * 5),
  ssl: n % 8 !== 0,
  port: n % 10 === 0 ? 8000 + n : 443,
  ip: `${10 + ((n * 11) % 220)}.${(n * 7) % 256}.${(n * 13) % 256}.${n}`,
  tags: n % 6 === 0 ? [`tag-${n}-x`, 'other'] : ['plain'],
}))
