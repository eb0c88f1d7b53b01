import HoldfastUI
import SwiftUI

/// A conversation with the program that answers prompts.
struct SessionScreen: View {
  let signIn: SignIn
  @Environment(HoldfastLinks.self) private var links

  var body: some View {
    ConversationView(links.conversation()) { signIn.signInAgain() }
      .navigationTitle("Session")
  }
}
