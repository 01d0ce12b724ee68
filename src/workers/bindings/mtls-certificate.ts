import { bindingKind, Ref } from './binding-kind.js'

/** A client certificate for requests to origins. */
export const mtlsCertificate = bindingKind({
  type: 'mtls_certificate',
  description: 'A client certificate for requests to origins.',
  fields: { certificate_id: Ref('Id of the certificate.') },
  example: { certificate_id: 'b2134436-2555-4acf-be5b-26c48136575e' },
})
