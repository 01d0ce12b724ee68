// A type of log records: orders of a shop, for jobs, pipelines and POST .../edged/records/shop_orders.

/** @param {import('edged/plugin').Edged} edged */
export default ({ dataset }) => {
  dataset({
    name: 'shop_orders',
    scopes: ['account', 'zone'],
    clock: 'OrderedAt',
    fields: { OrderedAt: 'timestamp', OrderID: 'string', Country: 'string', Cents: 'int', Items: 'array[string]' },
    defaults: ['OrderedAt', 'OrderID', 'Cents'],
  })
}
