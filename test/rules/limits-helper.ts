/** A rate limit of 3 requests per minute and address. */
export const LIMIT = {
  characteristics: ['ip.src'],
  period: 60,
  requests_per_period: 3,
  mitigation_timeout: 0,
  requests_to_origin: false,
}
