import HoldfastUI
import SwiftUI

/// The sync of health data. The system's question is shown when the user presses the card's button.
struct HealthScreen: View {
  let signIn: SignIn
  @Environment(HoldfastLinks.self) private var links

  var body: some View {
    ScrollView {
      SyncCard(links.healthSync(), signIn: { signIn.signInAgain() }).padding()
    }
    .navigationTitle("Health data")
  }
}
