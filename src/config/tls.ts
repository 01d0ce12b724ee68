import { Type, type Static } from 'typebox'
import { strict } from '../core/schema.js'

const Pem = (description: string, example: string) => Type.String({ minLength: 1, description, examples: [example] })

const CertificateFiles = {
  cert_file: Pem('PEM file of the certificate chain, leaf first.', './example.pem'),
  key_file: Pem('PEM file of its private key.', './example.key'),
}

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
      minItems: 1,
      description:
        'Certificates, chosen by the server name that the client asks for; the first one serves all other clients. ' +
        'The files are watched: a changed pair is used without a restart.',
      'x-shown': true,
    }),
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
