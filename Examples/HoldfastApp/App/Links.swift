import Foundation
import Holdfast
import HoldfastAppleApp
import HoldfastBackgroundUploads
import HoldfastUI
import UIKit

/// The links of the app. They live as long as its process, and all screens share them.
@MainActor enum Links {
  /// The address of `holdfast serve`, as the simulator sees it. README.md says what a phone needs.
  static let server = URL(string: "http://127.0.0.1:8787")!

  /// The shop that `holdfast token --shops bakery` admits to.
  static let shop = ShopID("bakery")!

  /// The user's sign-in.
  static let signIn = SignIn()

  /// The links that the token of the sign-in opens.
  static let main = HoldfastLinks(server: server, ports: ports, backgroundTime: time) {
    try SignIn.read(.token)
  }

  /// The links of the session, for which `holdfast serve` has a key of its own. An app whose server
  /// accepts one token for everything needs only `main`.
  static let session = HoldfastLinks(
    server: server, directory: main.directory.appending(path: "Conversations"), ports: ports,
    backgroundTime: time
  ) { try SignIn.read(.sessionKey) }

  /// Returns the queue of the uploads that the system makes. A process creates it once.
  static func uploads() -> BackgroundUploads? {
    try? BackgroundUploads(identifier: Name.uploads, main.uploadTarget())
  }

  private static let time = AppBackgroundTime(.shared)
  private static let ports = DevicePorts(lifecycle: ApplicationLifecycle(.shared, time: time))

  /// The names under which the system keeps something for the app. They never change.
  enum Name {
    static let radio = "com.example.holdfast.bottle"
    static let uploads = "com.example.holdfast.uploads"
    static let secrets = "com.example.holdfast.secrets"
  }
}
