import HoldfastUI
import SwiftUI

/// The list of the five features.
struct HomeScreen: View {
  let signIn: SignIn

  var body: some View {
    NavigationStack {
      if signIn.isSignedIn {
        List {
          NavigationLink("Shop") { ShopScreen(signIn: signIn) }
          NavigationLink("Assistant") { AssistantScreen() }
          NavigationLink("Bottle") { BottleScreen() }
          NavigationLink("Health data") { HealthScreen(signIn: signIn) }
          NavigationLink("Session") { SessionScreen(signIn: signIn).holdfast(Links.session) }
          Button(role: .destructive) {
            Task { await signIn.signOut() }
          } label: {
            Text("Sign out")
          }
        }
        .navigationTitle("Holdfast")
      } else {
        SignInScreen(signIn: signIn)
      }
    }
    .task { signIn.load() }
  }
}
