import Foundation
import Holdfast
import HoldfastPorts
import HoldfastUI
import Observation

/// A shop on a phone without a network: the user's messages wait, and a reopened screen shows them.
@main @MainActor struct ExampleApp {
  static func main() async throws {
    guard let server = URL(string: "https://shops.example"), let id = ShopID("bakery") else {
      return
    }
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "holdfast-example-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    let links = HoldfastLinks(
      server: server, directory: directory, ports: DevicePorts(network: Offline())
    ) { "a token of the app's own sign-in" }

    let shop = links.shop(id)
    // In SwiftUI, `.task { await shop.follow() }` does this while a screen is shown.
    let screen = Task { await shop.follow() }
    shop.post("Two rye loaves, please")
    await shop.wait { $0.waiting.count == 1 }
    screen.cancel()
    await screen.value

    shop.post("And a cake")
    await shop.wait { $0.waiting.count == 2 }
    for row in shop.waiting { print("waits: \(row.text)") }
    print("one model for all screens: \(links.shop(id) === shop)")
    await shop.close()
  }
}

extension ShopMessages {
  /// Sends a message without waiting, as a button does.
  fileprivate func post(_ text: String) { send(text) }

  /// Waits until a change of the model satisfies a condition; SwiftUI does this for a view.
  fileprivate func wait(until isReached: @MainActor (ShopMessages) -> Bool) async {
    while !isReached(self) {
      await withCheckedContinuation { continuation in
        withObservationTracking {
          _ = waiting
        } onChange: {
          continuation.resume()
        }
      }
      await Task.yield()
    }
  }
}

/// A network that is always down. On a platform without an adapter an app passes its own network.
struct Offline: SocketDialer, HTTPClient {
  struct Closed: SocketHandle {
    func send(text: [UInt8]) async -> SocketSending { .closed }
    func send(binary: [UInt8]) async -> SocketSending { .closed }
    func ping(id: UInt64) async {}
    func close(code: UInt16, reason: String) async {}
  }

  func open(
    _ request: SocketRequest,
    deliver: nonisolated(nonsending) @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle {
    Task { await deliver(.failed(.unreachable(detail: "there is no network"))) }
    return Closed()
  }

  func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
    throw .unreachable(detail: "there is no network")
  }

  func forgetConnections() async {}
}
