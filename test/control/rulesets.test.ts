import t from 'tap'
import { ACCOUNT, client, ZONE } from './client.js'

/** The request that the public API's manual shows. */
const SAMPLE = {
  name: 'My ruleset',
  kind: 'root',
  phase: 'http_request_firewall_custom',
  description: 'My ruleset to execute managed rulesets',
  rules: [
    {
      id: '3a03d665bac047339bb530ecb439a90d',
      action: 'block',
      action_parameters: {
        response: {
          content: '{"success":false,"error":"you have been blocked"}',
          content_type: 'application/json',
          status_code: 400,
        },
      },
      description: 'Block when the IP address is not 1.1.1.1',
      enabled: true,
      exposed_credential_check: {
        password_expression: 'url_decode(http.request.body.form["password"][0])',
        username_expression: 'url_decode(http.request.body.form["username"][0])',
      },
      expression: 'ip.src ne 1.1.1.1',
      logging: { enabled: true },
      ratelimit: {
        characteristics: ['cf.colo.id'],
        period: 60,
        counting_expression: 'http.request.body.raw eq "abcd"',
        mitigation_timeout: 600,
        requests_per_period: 1000,
        requests_to_origin: true,
        score_per_period: 400,
        score_response_header_name: 'my-score',
      },
      ref: 'my_ref',
    },
  ],
}

t.test('the sample of the manual is created as it stands', async (t) => {
  const { call } = await client(t)
  const made = await call('POST', `/accounts/${ACCOUNT}/rulesets`, SAMPLE)
  const { id: _id, ...rule } = SAMPLE.rules[0]!
  t.match(made, {
    status: 200,
    body: { success: true, result: { ...SAMPLE, version: '1', rules: [{ ...rule, version: '1' }] } },
  })
  const { id } = made.body.result
  t.same((await call('GET', `/accounts/${ACCOUNT}/rulesets/${id}`)).body.result, made.body.result)
  t.match(
    await call('PUT', `/zones/${ZONE}/rulesets/phases/http_config_settings/entrypoint`, {
      rules: [
        {
          expression: 'http.host eq "a.test"',
          action: 'set_config',
          action_parameters: { content_converter: true },
          description: 'x',
        },
      ],
    }),
    { status: 200, body: { result: { kind: 'zone', name: 'default', version: '1' } } },
  )
  t.match(await call('GET', `/zones/${ZONE}/rulesets`), { status: 200, body: { result: [{ kind: 'zone' }] } })
})
