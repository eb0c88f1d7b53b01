import HoldfastUI
import SwiftUI

/// The app. Its delegate has made the parts of the device before the first screen appears.
@main struct HoldfastApp: App {
  @UIApplicationDelegateAdaptor(AppDelegate.self) private var delegate

  var body: some Scene {
    WindowGroup { RootScreen() }
  }
}

/// The first screen. The links are created in the launch, or in this body, which is evaluated after
/// it. SwiftUI may evaluate the body of the app earlier.
private struct RootScreen: View {
  var body: some View { HomeScreen(signIn: Links.signIn).holdfast(Links.main) }
}
