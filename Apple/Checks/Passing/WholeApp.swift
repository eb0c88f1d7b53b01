import Holdfast
import HoldfastAppleApp
import HoldfastBluetooth
import HoldfastUI
import SwiftUI

final class AppDelegate: HoldfastDelegate {
  let links = HoldfastLinks(server: URL(string: "https://shops.example")!) { "a sign-in's token" }
  override func launched() {  // before the launch ends, also in the background
    links.parts.radio = CoreBluetoothCentral(restoration: "bottle")
    (router.links, router.wakes) = (links, SystemWakes(tasks: [router.task]))
  }
}

@main struct ShopApp: App {
  @UIApplicationDelegateAdaptor(AppDelegate.self) private var delegate
  var body: some Scene { WindowGroup { ShopScreen(app: delegate) } }
}
struct ShopScreen: View {
  let app: AppDelegate
  var body: some View {  // after the launch, unlike the body of the app
    MessageListView(app.links.shop(ShopID("bakery")!))
    BottleCard(app.links.bottle())
  }
}
