import { Type, type Static } from 'typebox'
import { strict } from '../core/schema.js'

const Pem = (description: string, example: string) => Type.String({ minLength: 1, description, examples: [example] })

const CertificateFiles = {
  cert_file: Pem('PEM file of the certificate chain, leaf first.', './example.pem'),
  key_file: Pem('PEM file of its private key.', './example.key'),
}

const Eab = Type.Object(
  { key_id: Type.String({ minLength: 1 }), hmac_key: Type.String({ pattern: '^[A-Za-z0-9_-]+$' }) },
  strict,
)

const DnsCommand = Type.Object(
  {
    command: Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
      minItems: 1,
      maxItems: 64,
      description:
        'Program and arguments, run as `COMMAND present|cleanup RECORD-NAME VALUE`. It adds or removes one TXT record and exits ' +
        'with 0 when the name servers have it, within 2 minutes. A name can have several values at once.',
      examples: [['./dns-hook']],
    }),
  },
  {
    ...strict,
    description: 'Command that writes the TXT records of dns-01. null or absent: none, so dns-01 cannot be used.',
  },
)

const OnDemand = Type.Object(
  {
    ask: Type.Union(
      [
        Type.String({ pattern: '^https?://[^\\s/]', maxLength: 2048, 'x-message': 'must be an http or https URL' }),
        Type.Null(),
      ],
      {
        default: null,
        description:
          'URL that decides: it gets ?domain=NAME, and status 200 allows the order. null: every served name.',
        examples: ['http://127.0.0.1:9000/may-have-a-certificate'],
      },
    ),
    per_hour: Type.Integer({
      minimum: 1,
      maximum: 250,
      default: 20,
      description: 'Maximum number of such orders per hour.',
    }),
  },
  {
    ...strict,
    description:
      'Orders the certificate of a served name at its first handshake, for names that only a pattern such as `*` covers. ' +
      'null or absent: off.',
  },
)

const Acme = Type.Object(
  {
    directory: Type.String({
      pattern: '^https://[^\\s]+$',
      default: 'https://acme-v02.api.letsencrypt.org/directory',
      description: 'Directory URL of the certificate authority.',
      'x-message': 'must be an https URL',
    }),
    email: Type.Optional(
      Type.String({
        pattern: '^[^@\\s]+@[^@\\s]+$',
        description: 'Contact of the account.',
        examples: ['ops@example.com'],
      }),
    ),
    agree_to_terms: Type.Literal(true, {
      description: 'You agree to the terms of service of the authority.',
      examples: [true],
      'x-message': 'must be true: the authority issues nothing before you agree to its terms of service',
    }),
    challenges: Type.Array(Type.Union([Type.Literal('tls-alpn-01'), Type.Literal('http-01'), Type.Literal('dns-01')]), {
      minItems: 1,
      uniqueItems: true,
      default: ['tls-alpn-01', 'http-01'],
      description:
        'Proofs of control, in the order of attempts. tls-alpn-01 needs port 443 of the host to reach this listener, ' +
        'http-01 needs port 80 to reach `proxy.listen`. dns-01 needs `dns`; only dns-01 gives wildcard certificates.',
    }),
    dns: Type.Optional(DnsCommand),
    www: Type.Boolean({
      default: true,
      description:
        'A zone without `hostnames` gets certificates for its name and for www.NAME, each by an order of its own. false: for its name only.',
    }),
    on_demand: Type.Optional(OnDemand),
    ca_file: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      default: null,
      description: 'PEM file with the roots of a directory that has its own certificate.',
    }),
    eab: Type.Union([Eab, Type.Null()], {
      default: null,
      description: 'External account binding: { key_id, hmac_key } of the authority; the key is base64url.',
    }),
  },
  {
    ...strict,
    description:
      'Certificates by ACME (RFC 8555) for the exact host names of zones and for custom hostnames that no certificate ' +
      'file covers, with dns-01 also for `*.` patterns. They are renewed with a third of their lifetime left.',
  },
)

/** The section `proxy.tls`. */
export const ProxyTls = Type.Object(
  {
    listen: Type.String({
      pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):\\d{1,5}$',
      default: '0.0.0.0:443',
      description: 'Address of the HTTPS listener. Port 0 takes a free one.',
      'x-message': 'must be an address and a port, as in 0.0.0.0:443',
    }),
    http2: Type.Union([Type.Literal('auto'), Type.Literal('on'), Type.Literal('off')], {
      default: 'auto',
      description:
        'HTTP/2 to clients. auto: on if the HTTP/2 library of Node.js (nghttp2) is 1.68.1 or newer; older versions can ' +
        'crash when a connection ends.',
    }),
    min_version: Type.Union([Type.Literal('1.2'), Type.Literal('1.3')], {
      default: '1.2',
      description: 'Lowest TLS version that is accepted.',
    }),
    certificates: Type.Array(Type.Object(CertificateFiles, strict), {
      default: [],
      description:
        'Certificates, chosen by the server name that the client asks for; the first one serves clients that ask for none, or for ' +
        'a name that no zone serves. A served name without a certificate gets the TLS alert unrecognized_name. ' +
        'The files are watched: a changed pair is used without a restart.',
      'x-shown': true,
    }),
    acme: Type.Optional(Acme),
  },
  { ...strict, description: 'HTTPS. Without this section the proxy speaks HTTP only.' },
)
export type ProxyTls = Static<typeof ProxyTls>

/** The section `control.tls`. */
export const ControlTls = Type.Object(CertificateFiles, {
  ...strict,
  description: 'HTTPS for the API. Without this section the API uses HTTP.',
})
export type ControlTls = Static<typeof ControlTls>
export type AcmeConfig = NonNullable<ProxyTls['acme']>
