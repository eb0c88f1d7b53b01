import HoldfastUI
import SwiftUI

/// The pairing with assistants, which may ask about the user's health data.
struct AssistantScreen: View {
  @Environment(HoldfastLinks.self) private var links

  var body: some View {
    ScrollView { PairingCard(links.healthRelay()).padding() }
      .navigationTitle("Assistant")
  }
}
