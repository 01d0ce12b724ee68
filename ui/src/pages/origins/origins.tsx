import { Page } from '../../parts/page.tsx'

export default function Origins() {
  return <Page>Origins</Page>
}
