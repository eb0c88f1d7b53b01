import Holdfast
import HoldfastUI
import SwiftUI

func signIn() async throws -> String { "a token of the app's own sign-in" }

@MainActor @ViewBuilder func screens(server: URL, id: ShopID) -> some View {
  // docs/apps.md >
  let links = HoldfastLinks(server: server) { try await signIn() }
  MessageListView(links.shop(id))  // messages, with a field for a new one
  ConversationView(links.conversation())  // prompts and answers
  BottleCard(links.bottle())  // drinks, and the state of a bottle
  SyncCard(links.healthSync())  // what was uploaded, and what waits
  PairingCard(links.healthRelay())  // the code for an assistant
  // docs/apps.md <
}
