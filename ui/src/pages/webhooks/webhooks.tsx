import { Page } from '../../parts/page.tsx'

export default function Webhooks() {
  return <Page>Webhooks</Page>
}
