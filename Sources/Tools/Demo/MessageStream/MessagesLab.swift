import HoldfastBackend
import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastOwnerFiles
import HoldfastTestKit

/// The messages of a shop in the lab: the app that follows them, and two customers who write.
actor MessagesLab: LabFeature {
  nonisolated let name = "stream"
  nonisolated let title = "Shop messages"
  nonisolated let writes = "a message to the shop"
  nonisolated let app = App.messages

  /// The mean pause between two messages of a customer.
  private static let pause = Duration.seconds(4)
  /// The policy's waits that are minutes, made short enough to be watched.
  private static let settings = [
    "liveness.silence=12s", "standby.interval=5s", "standby.probe=15s", "standby.slowProbe=20s",
  ]
  private static let tokenLife = Duration.seconds(86_400)

  private let parts: LabParts
  private var customers: Customers?

  init(_ parts: LabParts) { self.parts = parts }

  private var token: String { parts.scratch("token") }

  func prepare() async throws(DemoFailure) -> [String] {
    customers = try Customers(
      http: parts.http, server: await parts.backend.url, seed: 1, pause: Self.pause,
      accepted: { [name, parts] entry in
        let text = entry.text.count > 60 ? entry.text.prefix(60) + "…" : entry.text[...]
        await parts.report(name, .accepted("The server accepted “\(text)” of a customer."))
      })
    try writeToken()
    return parts.arguments(
      app,
      [
        "--shop", Customers.shop, "--send-stdin", "--token-command",
        "cat '\(token.replacing("'", with: "'\\''"))'",
      ] + Self.settings.flatMap { ["--set", $0] })
  }

  nonisolated func trace(
    of journal: String, start: Instant, startedAt: Timestamp
  ) -> any LiveTrace {
    LiveJournalTrace(StreamFeature.self, journal: journal, start: start, startedAt: startedAt)
  }

  func work(on phone: Phone) async {
    guard let customers, let tokens = try? customerTokens() else { return }
    await customers.start(tokens: tokens)
    await each(.seconds(3600)) {}
    await customers.leave()
  }

  func renew() async throws(DemoFailure) {
    try writeToken()
    await customers?.renew(tokens: try customerTokens())
  }

  private func customerTokens() throws(DemoFailure) -> [String] {
    var tokens: [String] = []
    for name in Customers.names { tokens.append(try issue(to: name)) }
    return tokens
  }

  private func writeToken() throws(DemoFailure) {
    let bytes = Array(try issue(to: "phone").utf8)
    try DemoEnvironment.checked { () throws(OwnerFileError) in
      try OwnerFile(token, maxBytes: 8_192, isSecret: true).replace(with: bytes)
    }
  }

  private func issue(to user: String) throws(DemoFailure) -> String {
    guard let shop = ShopID(Customers.shop) else { throw .setup("the shop has no valid name") }
    let tokens = try DemoEnvironment.checked { () throws(BackendError) in
      try Tokens.open(in: parts.backend.directory)
    }
    return tokens.issue(user: user, name: user, shops: [shop], ttl: Self.tokenLife)
  }
}
