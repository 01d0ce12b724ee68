import { Page } from '../../parts/page.tsx'

export default function Zones() {
  return <Page>Zones</Page>
}
