// What both senders are given: a payload of the size that findings have, and where it goes.
export const ACCOUNT = { type: 'account', id: 'a'.repeat(32) }
export const payloadOf = (id) =>
  JSON.stringify({
    id,
    type: 'posture.finding_instance',
    data: { finding: { name: 'Public file', description: 'x'.repeat(600) }, asset: { fields: 'y'.repeat(600) } },
  })
export const URL_OF = (port, path = '/hook') => `https://receiver.test:${port}${path}`
