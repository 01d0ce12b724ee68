import type { CertificateTexts } from '../../core/client-certificate.js'
import { plainAddress, toBytes, type Getter } from '../../expr/index.js'
import { ipOf, type FieldSource } from './source.js'

const PLANS = { free: 'FREE', pro: 'PRO', business: 'BIZ', enterprise: 'ENT' } as const

/** Text fields of a client certificate. */
const CERTIFICATE: readonly (keyof CertificateTexts)[] = [
  'issuer_dn',
  'subject_dn',
  'issuer_dn_rfc2253',
  'subject_dn_rfc2253',
  'issuer_dn_legacy',
  'subject_dn_legacy',
  'serial',
  'issuer_serial',
  'fingerprint_sha256',
  'fingerprint_sha1',
  'not_before',
  'not_after',
  'ski',
  'issuer_ski',
  'rfc9440',
  'chain_rfc9440',
]

/** `cf.tls_client_auth.cert_...` fields. Empty and false without a client certificate. */
const CERTIFICATE_TEXTS: Record<string, Getter<FieldSource>> = Object.fromEntries(
  CERTIFICATE.map((member) => [
    `cf.tls_client_auth.cert_${member}`,
    ({ exchange }: FieldSource) => toBytes(exchange.clientCertificate?.texts[member] ?? ''),
  ]),
)

/** Fields of the proxy itself, the zone and the time. */
export const EDGE_GETTERS: Readonly<Record<string, Getter<FieldSource>>> = {
  'cf.ray_id': ({ exchange }) => exchange.rayId,
  'cf.zone.name': ({ exchange }) => toBytes(exchange.zone.name),
  'cf.zone.plan': ({ exchange }) => PLANS[exchange.zone.plan],
  'cf.hostname.metadata': ({ exchange: { custom } }) => custom && toBytes(JSON.stringify(custom.metadata)),
  'cf.random_seed': ({ seed }) => seed,
  'cf.edge.server_ip': ({ exchange }) => serverIp(exchange.local.localAddress),
  'cf.edge.server_port': ({ exchange }) => exchange.local.localPort,
  'cf.edge.client_tcp': () => true,
  'cf.edge.l4.delivery_rate': () => 0,
  'cf.tls_version': ({ exchange }) => exchange.tls?.version,
  'cf.tls_cipher': ({ exchange }) => exchange.tls?.cipher,
  'cf.tls_client_hello_length': ({ exchange }) => exchange.tls?.helloBytes,
  'cf.tls_client_random': ({ exchange }) => exchange.tls?.fingerprint.random,
  'cf.tls_ciphers_sha1': ({ exchange }) => exchange.tls?.fingerprint.ciphersSha1,
  'cf.tls_client_extensions_sha1': ({ exchange }) => exchange.tls?.fingerprint.extensionsSha1,
  'cf.tls_client_extensions_sha1_le': ({ exchange }) => exchange.tls?.fingerprint.extensionsSha1Le,
  'cf.threat_score': () => 0,
  'cf.worker.upstream_zone': () => '',
  'cf.timings.client_quic_rtt_msec': () => 0,
  'cf.timings.worker_msec': () => 0,
  'cf.timings.edge_msec': ({ elapsed, originTime }) => Math.max(0, Math.round(elapsed - originTime)),
  'cf.timings.origin_ttfb_msec': ({ originTime }) => Math.max(0, Math.round(originTime)),
  ...CERTIFICATE_TEXTS,
  // Revoked certificates are not listed here.
  'cf.tls_client_auth.cert_revoked': () => false,
  'cf.tls_client_auth.cert_verified': ({ exchange }) => exchange.clientCertificate?.status === 'ok',
  'cf.tls_client_auth.cert_presented': ({ exchange }) => exchange.clientCertificate !== undefined,
  'cf.tls_client_auth.cert_rfc9440_too_large': ({ exchange }) => exchange.clientCertificate?.isTooLarge ?? false,
  'cf.tls_client_auth.cert_chain_rfc9440_too_large': ({ exchange }) =>
    exchange.clientCertificate?.isChainTooLarge ?? false,
}

const serverIp = (address: string | undefined) => ipOf(address === undefined ? undefined : plainAddress(address))
