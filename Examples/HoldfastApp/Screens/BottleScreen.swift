import HoldfastUI
import SwiftUI

/// The bottle and its drinks.
struct BottleScreen: View {
  @Environment(HoldfastLinks.self) private var links

  var body: some View {
    ScrollView { BottleCard(links.bottle()).padding() }
      .navigationTitle("Bottle")
  }
}
