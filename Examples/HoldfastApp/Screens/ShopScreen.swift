import HoldfastUI
import SwiftUI

/// The messages of one shop.
struct ShopScreen: View {
  let signIn: SignIn
  @Environment(HoldfastLinks.self) private var links

  var body: some View {
    MessageListView(links.shop(Links.shop), user: "me") { signIn.signInAgain() }
      .navigationTitle("Shop")
  }
}
